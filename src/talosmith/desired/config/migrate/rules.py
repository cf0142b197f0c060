"""Which field of v1alpha1 is which field of which document, where the value stays as it is, and why it moved.

A `!` before the new name: true and false change places. What needs more than a new place is in `special`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_TABLE = """
machine.kubelet.image                                = KubeletConfig.image
machine.kubelet.extraArgs                            = KubeletConfig.extraArgs
machine.kubelet.extraConfig                          = KubeletConfig.config
machine.kubelet.clusterDNS                           = KubeletConfig.clusterDNS
machine.kubelet.defaultRuntimeSeccompProfileEnabled  = KubeletConfig.defaultRuntimeSeccompProfileEnabled
machine.kubelet.credentialProviderConfig             = KubeCredentialProviderConfig.configuration
machine.kubelet.registerWithFQDN                     = KubeNodeConfig.registerWithFQDN
machine.kubelet.nodeIP                               = KubeNodeConfig.nodeIP
machine.kubelet.skipNodeRegistration                 = KubeNodeConfig.skipNodeRegistration
machine.nodeLabels                                   = KubeNodeConfig.labels
machine.nodeAnnotations                              = KubeNodeConfig.annotations
machine.nodeTaints                                   = KubeNodeConfig.taints
machine.controlPlane.controllerManager.disabled      = KubeControllerManagerConfig.!enabled
machine.controlPlane.scheduler.disabled              = KubeSchedulerConfig.!enabled
machine.network.searchDomains                        = ResolverConfig.searchDomains.domains
machine.network.disableSearchDomain                  = ResolverConfig.searchDomains.disableDefault
machine.network.kubespan                             = KubeSpanConfig.
machine.time.disabled                                = TimeSyncConfig.!enabled
machine.time.servers                                 = TimeSyncConfig.ntp.servers
machine.time.bootTimeout                             = TimeSyncConfig.bootTimeout
machine.env                                          = EnvironmentConfig.variables
machine.sysctls                                      = SysctlConfig.params
machine.sysfs                                        = SysfsConfig.params
machine.udev.rules                                   = UdevRulesConfig.rules
machine.baseRuntimeSpecOverrides                     = CRIBaseRuntimeSpecConfig.overrides
machine.features.hostDNS                             = ResolverConfig.hostDNS
machine.features.imageCache.localEnabled             = ImageCacheConfig.local.enabled
machine.systemDiskEncryption.state                   = VolumeConfig/STATE.encryption
machine.systemDiskEncryption.ephemeral               = VolumeConfig/EPHEMERAL.encryption
cluster.id                                           = DiscoveryIdentityConfig.clusterID
cluster.secret                                       = DiscoveryIdentityConfig.clusterSecret
cluster.clusterName                                  = KubeClusterConfig.clusterName
cluster.controlPlane.localAPIServerPort              = KubeAPIServerConfig.apiPort
cluster.network.dnsDomain                            = KubeNetworkConfig.dnsDomain
cluster.network.podSubnets                           = KubeNetworkConfig.podSubnets
cluster.network.serviceSubnets                       = KubeNetworkConfig.serviceSubnets
cluster.apiServer.image                              = KubeAPIServerConfig.image
cluster.apiServer.extraArgs                          = KubeAPIServerConfig.extraArgs
cluster.apiServer.env                                = KubeAPIServerConfig.env
cluster.apiServer.resources                          = KubeAPIServerConfig.resources
cluster.apiServer.certSANs                           = KubeAPIServerConfig.certExtraSANs
cluster.apiServer.auditPolicy                        = KubeAuditPolicyConfig.configuration
cluster.controllerManager.image                      = KubeControllerManagerConfig.image
cluster.controllerManager.extraArgs                  = KubeControllerManagerConfig.extraArgs
cluster.controllerManager.env                        = KubeControllerManagerConfig.env
cluster.controllerManager.resources                  = KubeControllerManagerConfig.resources
cluster.scheduler.image                              = KubeSchedulerConfig.image
cluster.scheduler.extraArgs                          = KubeSchedulerConfig.extraArgs
cluster.scheduler.env                                = KubeSchedulerConfig.env
cluster.scheduler.resources                          = KubeSchedulerConfig.resources
cluster.scheduler.config                             = KubeSchedulerConfig.config
cluster.proxy.disabled                               = KubeProxyConfig.!enabled
cluster.proxy.image                                  = KubeProxyConfig.image
cluster.proxy.mode                                   = KubeProxyConfig.mode
cluster.proxy.extraArgs                              = KubeProxyConfig.extraArgs
cluster.coreDNS.disabled                             = KubeCoreDNSConfig.!enabled
cluster.coreDNS.image                                = KubeCoreDNSConfig.image
"""

_REASONS = """
KubeletConfig: it configures the kubelet alone; Talos refuses it beside machine.kubelet
KubeNodeConfig: it says what of the Node object is, and lists everything itself: Talos adds no label and no taint
KubeCredentialProviderConfig: Talos refuses it beside machine.kubelet
KubeControllerManagerConfig: both old places of the controller manager are one document
KubeSchedulerConfig: both old places of the scheduler are one document
KubeAPIServerConfig: Talos refuses it beside cluster.apiServer, and with it adds no authorizers of its own
KubeAuthenticationConfig: kube-apiserver refuses its flags beside this document, and reads the authenticator from it
KubeAuditPolicyConfig: the audit policy is a document of its own
KubeAdmissionControlConfig: each admission plug-in is a document
KubeAuthorizerConfig: each authorizer is a document; Node and RBAC are listed, Talos adds none
KubeProxyConfig: Talos refuses it beside cluster.proxy; kube-proxy is configured by a file
KubeCoreDNSConfig: Talos refuses it beside cluster.coreDNS
KubeClusterConfig: name and endpoint of the cluster are one document
KubeNetworkConfig: Talos refuses it beside cluster.network
KubeFlannelCNIConfig: flannel is deployed where this document exists
KubeServiceAccountConfig: issuer and key are one document; the issuer is no longer taken from the endpoint
KubeAPIServerCAConfig: the Kubernetes CA is a document, in PEM instead of base64
KubeAggregatorCAConfig: the aggregator CA is a document, in PEM instead of base64
KubeEtcdEncryptionConfig: the key keeps its name, else secrets that exist cannot be decrypted
KubePrismConfig: KubePrism runs where this document exists
KubeTalosAPIAccessConfig: access is granted where this document exists
KubeStaticPodConfig: each static pod is a document
KubeInlineManifestConfig: each inline manifest is a document
KubeExternalManifestConfig: each URL is a document, with a name and its own headers
HostnameConfig: Talos refuses it beside machine.network.hostname; `auto: "off"`, as a name and auto exclude each other
ResolverConfig: name servers, search domains and host DNS are one document; without search domains those of DHCP apply
TimeSyncConfig: Talos refuses it beside machine.time
KubeSpanConfig: Talos refuses it beside machine.network.kubespan
StaticHostConfig: each address is a document
EnvironmentConfig: environment variables are a document of their own
SysctlConfig: sysctls are a document of their own
SysfsConfig: sysfs settings are a document of their own
UdevRulesConfig: udev rules are a document of their own
KernelModuleConfig: each kernel module is a document
CRIBaseRuntimeSpecConfig: Talos refuses it beside machine.baseRuntimeSpecOverrides
CRICustomizationConfig: parts of containerd's configuration are documents instead of one file
EtcFileConfig: files below /etc are documents
ImageCacheConfig: Talos refuses it beside machine.features.imageCache
VolumeConfig: encryption is a property of the volume
RegistryMirrorConfig: each mirror is a document
RegistryAuthConfig: each registry's credentials are a document
RegistryTLSConfig: each registry's TLS settings are a document, in PEM instead of base64
DiscoveryIdentityConfig: cluster id and secret are a document of their own
DiscoveryServiceConfig: a discovery service is used where this document exists
UnattendedInstallConfig: Talos refuses it beside machine.install; it wipes the disk unless told not to
"""

REASONS: dict[str, str] = dict(line.split(": ", 1) for line in _REASONS.strip().splitlines())

CONTROLPLANE_KINDS = frozenset(
    (
        "KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig",
        "KubeAuthenticationConfig", "KubeAuthorizerConfig", "KubeControllerManagerConfig", "KubeCoreDNSConfig",
        "KubeEtcdEncryptionConfig", "KubeFlannelCNIConfig", "KubeProxyConfig", "KubeSchedulerConfig",
        "KubeServiceAccountConfig", "KubeTalosAPIAccessConfig",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    old: tuple[str, ...]
    kind: str
    name: str
    new: tuple[str, ...]  # empty: the document itself
    negated: bool

    @property
    def place(self) -> str:
        return ".".join(part for part in (self.kind + (f"/{self.name}" if self.name else ""), *self.new) if part)


def _rules() -> Iterator[Rule]:
    for line in _TABLE.strip().splitlines():
        old, new = (part.strip() for part in line.split("="))
        document, *path = new.split(".")
        kind, _, name = document.partition("/")
        names = [part for part in path if part]
        negated = bool(names) and names[-1].startswith("!")
        yield Rule(tuple(old.split(".")), kind, name, tuple(part.lstrip("!") for part in names), negated)


RULES: tuple[Rule, ...] = tuple(_rules())
