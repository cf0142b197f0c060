"""What a new config changes on a running node: whether it needs a reboot, and the difference as text."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.emit import emit
from talosmith.desired.config.redact import redact_pair
from talosmith.lab.nodeconfig import documents_of
from talosmith.model.versions import Version

_AT_ONCE = frozenset(
    {
        "ca", "acceptedCAs", "time", "certSANs", "install", "network", "sysfs", "sysctls", "logging", "controlPlane",
        "kubelet", "kernel", "registries", "pods", "seccompProfiles", "nodeAnnotations", "nodeLabels", "nodeTaints",
    }
)  # fmt: skip
_FEATURES_AT_ONCE = frozenset(
    {"kubernetesTalosAPIAccess", "kubePrism", "hostDNS", "imageCache", "nodeAddressSortAlgorithm"}
)

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


def needs_reboot(old: str, new: str) -> list[str]:
    """The fields that change and only take effect after a reboot."""
    one, other = _main(old), _main(new)
    fields = _different(one, other, "", {"debug", "cluster", "machine"})
    before, after = one.get("machine") or {}, other.get("machine") or {}
    fields += _different(before, after, "machine.", _AT_ONCE | {"features"})
    fields += _different(
        before.get("features") or {}, after.get("features") or {}, "machine.features.", _FEATURES_AT_ONCE
    )
    return fields


def difference(old: str, new: str) -> str:
    """As a unified diff in which no secret is seen."""
    before, after = redact_pair(documents_of(old) if old else (), documents_of(new))
    lines = difflib.unified_diff(
        emit(before).splitlines(), emit(after).splitlines(), "a", "b", lineterm="", n=3
    )  # fmt: skip
    return "\n".join(lines)


def _main(text: str) -> Mapping[str, Any]:
    return next((document for document in documents_of(text) if "kind" not in document), {})


def _different(
    one: Mapping[str, Any], other: Mapping[str, Any], prefix: str, but: set[str] | frozenset[str]
) -> list[str]:
    keys = dict.fromkeys([*one, *other])
    return [prefix + key for key in keys if key not in but and one.get(key) != other.get(key)]
