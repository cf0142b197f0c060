"""What a new config changes on a running node: whether it needs a reboot, and the difference as text."""

from __future__ import annotations

from collections.abc import Mapping

from talosmith.desired.config import compare, reboot
from talosmith.model.versions import Version
from talosmith_lab.nodeconfig import documents_of

# Kinds of documents by the first Talos that knows them. All others are as old as documents are.
_SINCE: Mapping[tuple[int, int], str] = {
    (1, 10): "UserVolumeConfig EthernetConfig PCIDriverRebindConfig",
    (1, 11): "RawVolumeConfig ExistingVolumeConfig SwapVolumeConfig ZswapConfig",
    (1, 12): "HostnameConfig LinkConfig LinkAliasConfig BondConfig BridgeConfig VLANConfig DummyLinkConfig "
    "WireguardConfig DHCPv4Config DHCPv6Config StaticHostConfig ResolverConfig TimeSyncConfig Layer2VIPConfig "
    "HCloudVIPConfig RegistryMirrorConfig RegistryAuthConfig RegistryTLSConfig OOMConfig",
    (1, 13): "KubeSpanConfig EnvironmentConfig ExternalVolumeConfig ImageVerificationConfig RoutingRuleConfig "
    "BlackholeRouteConfig VRFConfig TCPProbeConfig",
}
_KIND_SINCE = {kind: version for version, kinds in _SINCE.items() for kind in kinds.split()}


def too_new(text: str, version: str) -> list[str]:
    """What in a config this version of Talos does not know yet."""
    line = Version.parse(version).line
    kinds = [document["kind"] for document in documents_of(text) if "kind" in document]
    return [f'"{kind}" "v1alpha1": not registered' for kind in kinds if _KIND_SINCE.get(kind, (1, 5)) > line]


def needs_reboot(old: str, new: str, version: str) -> tuple[str, ...]:
    """The fields that change and only take effect after a reboot."""
    return reboot.needs_reboot(documents_of(old), documents_of(new), Version.parse(version))


def difference(old: str, new: str) -> str:
    """As a unified diff in which no secret is seen."""
    return "\n".join(compare.difference(documents_of(old) if old else (), documents_of(new), ("a", "b")))
