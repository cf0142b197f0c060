"""Which fields of the main document a kind of document replaces: what to write for an older Talos, or no longer."""

from __future__ import annotations

REPLACES: dict[str, tuple[str, ...]] = {
    "BondConfig": ("machine.network.interfaces",),
    "BridgeConfig": ("machine.network.interfaces",),
    "CRIBaseRuntimeSpecConfig": ("machine.baseRuntimeSpecOverrides",),
    "CRICustomizationConfig": ("machine.files",),
    "DHCPv4Config": ("machine.network.interfaces",),
    "DHCPv6Config": ("machine.network.interfaces",),
    "DiscoveryIdentityConfig": ("cluster.id", "cluster.secret"),
    "DiscoveryServiceConfig": ("cluster.discovery",),
    "DummyLinkConfig": ("machine.network.interfaces",),
    "EnvironmentConfig": ("machine.env",),
    "EtcFileConfig": ("machine.files",),
    "HCloudVIPConfig": ("machine.network.interfaces",),
    "HostnameConfig": ("machine.network.hostname", "machine.features.stableHostname"),
    "ImageCacheConfig": ("machine.features.imageCache",),
    "KernelModuleConfig": ("machine.kernel.modules",),
    "KubeAPIServerCAConfig": ("cluster.ca", "cluster.acceptedCAs"),
    "KubeAPIServerConfig": ("cluster.apiServer", "cluster.controlPlane.localAPIServerPort"),
    "KubeAdmissionControlConfig": ("cluster.apiServer.admissionControl",),
    "KubeAggregatorCAConfig": ("cluster.aggregatorCA",),
    "KubeAuditPolicyConfig": ("cluster.apiServer.auditPolicy",),
    "KubeAuthorizerConfig": ("cluster.apiServer.authorizationConfig",),
    "KubeClusterConfig": ("cluster.clusterName", "cluster.controlPlane.endpoint"),
    "KubeControllerManagerConfig": ("cluster.controllerManager", "machine.controlPlane.controllerManager"),
    "KubeCoreDNSConfig": ("cluster.coreDNS",),
    "KubeCredentialProviderConfig": ("machine.kubelet.credentialProviderConfig",),
    "KubeEtcdEncryptionConfig": ("cluster.secretboxEncryptionSecret", "cluster.aescbcEncryptionSecret"),
    "KubeExternalManifestConfig": ("cluster.extraManifests",),
    "KubeFlannelCNIConfig": ("cluster.network.cni",),
    "KubeInlineManifestConfig": ("cluster.inlineManifests",),
    "KubeNetworkConfig": ("cluster.network",),
    "KubeNodeConfig": (
        "machine.nodeLabels",
        "machine.nodeAnnotations",
        "machine.nodeTaints",
        "machine.kubelet.nodeIP",
        "machine.kubelet.skipNodeRegistration",
        "machine.kubelet.registerWithFQDN",
        "cluster.allowSchedulingOnControlPlanes",
    ),
    "KubePrismConfig": ("machine.features.kubePrism",),
    "KubeProxyConfig": ("cluster.proxy",),
    "KubeSchedulerConfig": ("cluster.scheduler", "machine.controlPlane.scheduler"),
    "KubeServiceAccountConfig": ("cluster.serviceAccount",),
    "KubeSpanConfig": ("machine.network.kubespan",),
    "KubeStaticPodConfig": ("machine.pods",),
    "KubeTalosAPIAccessConfig": ("machine.features.kubernetesTalosAPIAccess",),
    "KubeletConfig": ("machine.kubelet",),
    "Layer2VIPConfig": ("machine.network.interfaces",),
    "LinkAliasConfig": ("machine.network.interfaces",),
    "LinkConfig": ("machine.network.interfaces",),
    "RegistryAuthConfig": ("machine.registries.config",),
    "RegistryMirrorConfig": ("machine.registries.mirrors",),
    "RegistryTLSConfig": ("machine.registries.config",),
    "ResolverConfig": ("machine.network.nameservers", "machine.network.searchDomains"),
    "ResolverConfig.hostDNS": ("machine.features.hostDNS",),
    "StaticHostConfig": ("machine.network.extraHostEntries",),
    "SysctlConfig": ("machine.sysctls",),
    "SysfsConfig": ("machine.sysfs",),
    "TimeSyncConfig": ("machine.time",),
    "UdevRulesConfig": ("machine.udev.rules",),
    "UnattendedInstallConfig": ("machine.install",),
    "UserVolumeConfig": ("machine.disks",),
    "VLANConfig": ("machine.network.interfaces",),
    "VolumeConfig.encryption": ("machine.systemDiskEncryption",),
    "WireguardConfig": ("machine.network.interfaces",),
}


def older_form(place: str) -> str:
    """What to write for a Talos that does not know the document or the field; empty if there is nothing."""
    while place:
        if place in REPLACES:
            return " and ".join(REPLACES[place])
        place = place.rpartition(".")[0]
    return ""
