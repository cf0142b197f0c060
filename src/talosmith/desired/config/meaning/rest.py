"""What no section reads: kept as it is, so that a comparison of meanings never loses a field.

The tables name the fields that sections read. A field that a later Talos adds is in none of them, and so it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from talosmith.desired.config.meaning.view import Values, View

_POD = "image extraArgs extraVolumes env resources"
_READ = f"""
machine.kubelet: image clusterDNS extraArgs extraMounts extraConfig credentialProviderConfig
machine.kubelet: defaultRuntimeSeccompProfileEnabled registerWithFQDN skipNodeRegistration disableManifestsDirectory
machine.kubelet.nodeIP: validSubnets
machine.controlPlane.controllerManager: disabled
machine.controlPlane.scheduler: disabled
machine: pods sysctls sysfs env files baseRuntimeSpecOverrides nodeLabels nodeAnnotations nodeTaints
machine.network: hostname nameservers searchDomains disableSearchDomain extraHostEntries
machine.network.kubespan: enabled advertiseKubernetesNetworks allowDownPeerBypass harvestExtraEndpoints mtu
machine.network.kubespan.filters: endpoints excludeAdvertisedNetworks
machine.install: disk diskSelector extraKernelArgs image extensions wipe legacyBIOSSupport grubUseUKICmdline
machine.time: disabled servers bootTimeout
machine.registries: mirrors config
machine.systemDiskEncryption: state ephemeral
machine.features: stableHostname
machine.features.kubernetesTalosAPIAccess: enabled allowedRoles allowedKubernetesNamespaces
machine.features.kubePrism: enabled port
machine.features.hostDNS: enabled forwardKubeDNSToHost resolveMemberNames
machine.features.imageCache: localEnabled
machine.udev: rules
machine.kernel: modules
cluster: id secret clusterName aescbcEncryptionSecret secretboxEncryptionSecret ca acceptedCAs aggregatorCA
cluster: serviceAccount extraManifests extraManifestHeaders inlineManifests
cluster: allowSchedulingOnMasters allowSchedulingOnControlPlanes
cluster.controlPlane: endpoint localAPIServerPort
cluster.network: dnsDomain podSubnets serviceSubnets
cluster.network.cni: name urls
cluster.network.cni.flannel: extraArgs kubeNetworkPoliciesEnabled
cluster.apiServer: {_POD} certSANs admissionControl auditPolicy authorizationConfig
cluster.controllerManager: {_POD}
cluster.scheduler: {_POD} config
cluster.proxy: disabled image mode extraArgs
cluster.discovery: enabled
cluster.discovery.registries.kubernetes: disabled
cluster.discovery.registries.service: disabled endpoint
cluster.coreDNS: disabled image
"""

_KINDS = """
KubeletConfig KubeCredentialProviderConfig KubeNodeConfig KubeClusterConfig KubeNetworkConfig
KubeAPIServerCAConfig KubeAggregatorCAConfig KubePrismConfig KubeStaticPodConfig KubeAPIServerConfig
KubeAuthenticationConfig KubeAuthorizerConfig KubeAdmissionControlConfig KubeAuditPolicyConfig
KubeControllerManagerConfig KubeSchedulerConfig KubeProxyConfig KubeCoreDNSConfig KubeFlannelCNIConfig
KubeEtcdEncryptionConfig KubeServiceAccountConfig KubeTalosAPIAccessConfig KubeInlineManifestConfig
KubeExternalManifestConfig UnattendedInstallConfig SysctlConfig SysfsConfig EnvironmentConfig
KernelModuleConfig UdevRulesConfig EtcFileConfig CRICustomizationConfig CRIBaseRuntimeSpecConfig
ImageCacheConfig RegistryMirrorConfig RegistryAuthConfig RegistryTLSConfig VolumeConfig HostnameConfig
ResolverConfig TimeSyncConfig KubeSpanConfig StaticHostConfig DiscoveryServiceConfig
DiscoveryIdentityConfig
"""
READ_KINDS = frozenset(_KINDS.split())

Tree = dict[str, "Tree | None"]


def _tree(table: str) -> Tree:
    made: Tree = {}
    for line in table.split("\n"):
        if line:
            place, _, fields = line.partition(":")
            inner = made
            for key in place.split("."):
                inner = cast("Tree", inner.setdefault(key, {}))
            inner.update(dict.fromkeys(fields.split()))
    return made


_TREE = _tree(_READ)


def main_document(view: View) -> Values:
    """The fields of the v1alpha1 document that no section reads; empty ones say nothing."""
    return _without(view.main or {}, _TREE)


def other_documents(view: View) -> Values:
    """Documents that no section reads, such as `LinkConfig/eth0`."""
    made: Values = {}
    for kind, documents in view.kinds.items():
        if kind not in READ_KINDS:
            for one in documents:
                name = f"{kind}/{one['name']}" if one.get("name") else kind
                made[name] = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "name")}
    return made


def _without(value: Mapping[str, Any], read: Tree) -> Values:
    made: Values = {}
    for key, inner in value.items():
        if key in read:
            below = read[key]
            if below is None:
                continue
            inner = _without(inner, below) if isinstance(inner, Mapping) else inner
        inner = _without(inner, {}) if isinstance(inner, Mapping) else inner
        if inner not in (None, "", [], {}):
            made[key] = inner
    return made
