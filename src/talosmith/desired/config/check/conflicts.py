"""Settings that a document and the main document both have; Talos accepts only one of them.

Talos 1.14 has a document for most of what older ones have as fields of the main document. Which excludes which is
data: the kind, the field, and the document that takes what the field says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from talosmith.desired.config.check.findings import Finding, Findings, Place
from talosmith.desired.config.emit import is_empty
from talosmith.desired.config.schema.documents import KINDS, Document, identity, label
from talosmith.desired.config.schema.since import Line
from talosmith.govalues import address

_MIGRATION: Line = (1, 14)  # from here on there are documents for whole sections


def _is_set(value: Any) -> bool:
    return value is not None


def _is_filled(value: Any) -> bool:
    return bool(value)


def _has_address(value: Any) -> bool:
    return any(map(_is_address, value or ()))


def _is_address(text: str) -> bool:
    try:
        address(text)
    except ValueError:
        return False
    return True


def _is_time(value: Any) -> bool:
    return value not in (None, "0s")


def _always(document: Document) -> bool:
    return True


def _names(name: str) -> Callable[[Document], bool]:
    """Whether a volume's document is of this name and encrypts it."""

    def condition(document: Document) -> bool:
        return document.get("name") == name and not _lacks(document, "encryption")

    return condition


def _lacks(document: Document, part: str) -> bool:
    return is_empty(KINDS[document["kind"]].fields[part].type, document.get(part))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field of the main document that a document of a kind excludes."""

    kind: str
    path: str
    instead: str = ""  # the document that takes the field, if it is another one
    present: Callable[[Any], bool] = _is_set  # whether the field says something
    when: Callable[[Document], bool] = _always  # whether the document does
    since: Line = _MIGRATION


_OLD: Line = (0, 0)
CONFLICTS: tuple[Conflict, ...] = (
    Conflict("HostnameConfig", "machine.network.hostname", present=_is_filled, since=_OLD),
    Conflict("HostnameConfig", "machine.features.stableHostname", present=_is_filled, since=_OLD),
    Conflict("ResolverConfig", "machine.network.searchDomains", since=_OLD),
    Conflict("ResolverConfig", "machine.network.nameservers", present=_has_address, since=_OLD),
    Conflict("ResolverConfig", "machine.network.disableSearchDomain", present=_is_filled, since=_OLD),
    Conflict("ResolverConfig", "machine.features.hostDNS", when=lambda document: not _lacks(document, "hostDNS")),
    Conflict("TimeSyncConfig", "machine.time.disabled", present=_is_filled, since=_OLD),
    Conflict("TimeSyncConfig", "machine.time.servers", present=_is_filled, since=_OLD),
    Conflict("TimeSyncConfig", "machine.time.bootTimeout", present=_is_time, since=_OLD),
    Conflict("KubeSpanConfig", "machine.network.kubespan", since=_OLD),
    Conflict("VolumeConfig", "machine.systemDiskEncryption.state", when=_names("STATE"), since=_OLD),
    Conflict("VolumeConfig", "machine.systemDiskEncryption.ephemeral", when=_names("EPHEMERAL"), since=_OLD),
    Conflict("UnattendedInstallConfig", "machine.install"),
    Conflict("ImageCacheConfig", "machine.features.imageCache"),
    Conflict("CRIBaseRuntimeSpecConfig", "machine.baseRuntimeSpecOverrides"),
    Conflict("DiscoveryIdentityConfig", "cluster.id", present=_is_filled),
    Conflict("DiscoveryIdentityConfig", "cluster.secret", present=_is_filled),
    Conflict("DiscoveryServiceConfig", "cluster.discovery"),
    Conflict("KubeletConfig", "machine.kubelet"),
    Conflict("KubeCredentialProviderConfig", "machine.kubelet", instead="KubeletConfig"),
    Conflict("KubeNodeConfig", "machine.kubelet.skipNodeRegistration"),
    Conflict("KubeNodeConfig", "machine.kubelet.registerWithFQDN"),
    Conflict("KubeNodeConfig", "machine.kubelet.nodeIP"),
    Conflict("KubeNodeConfig", "machine.nodeLabels"),
    Conflict("KubeNodeConfig", "machine.nodeAnnotations"),
    Conflict("KubeNodeConfig", "machine.nodeTaints"),
    Conflict("KubeNodeConfig", "cluster.allowSchedulingOnControlPlanes"),
    Conflict("KubeNodeConfig", "cluster.allowSchedulingOnMasters"),
    Conflict("KubePrismConfig", "machine.features.kubePrism"),
    Conflict("KubeTalosAPIAccessConfig", "machine.features.kubernetesTalosAPIAccess"),
    Conflict("KubeClusterConfig", "cluster.clusterName", present=_is_filled),
    Conflict("KubeClusterConfig", "cluster.controlPlane.endpoint"),
    Conflict("KubeNetworkConfig", "cluster.network"),
    Conflict("KubeFlannelCNIConfig", "cluster.network", instead="KubeNetworkConfig"),
    Conflict("KubeAPIServerConfig", "cluster.apiServer"),
    Conflict("KubeAPIServerConfig", "cluster.controlPlane.localAPIServerPort", present=_is_filled),
    Conflict("KubeAPIServerCAConfig", "cluster.ca"),
    Conflict("KubeAggregatorCAConfig", "cluster.aggregatorCA"),
    Conflict("KubeServiceAccountConfig", "cluster.serviceAccount"),
    Conflict("KubeAdmissionControlConfig", "cluster.apiServer.admissionControl", present=_is_filled),
    Conflict(  # not authorizationConfig: Talos 1.14.1 looks at this field for both kinds
        "KubeAuthorizerConfig",
        "cluster.apiServer.admissionControl",
        instead="KubeAdmissionControlConfig",
        present=_is_filled,
    ),
    Conflict("KubeAuditPolicyConfig", "cluster.apiServer.auditPolicy", present=_is_filled),
    Conflict("KubeEtcdEncryptionConfig", "cluster.secretboxEncryptionSecret", present=_is_filled),
    Conflict("KubeEtcdEncryptionConfig", "cluster.aescbcEncryptionSecret", present=_is_filled),
    Conflict("KubeControllerManagerConfig", "cluster.controllerManager"),
    Conflict("KubeControllerManagerConfig", "machine.controlPlane.controllerManager"),
    Conflict("KubeSchedulerConfig", "cluster.scheduler"),
    Conflict("KubeSchedulerConfig", "machine.controlPlane.scheduler"),
    Conflict("KubeProxyConfig", "cluster.proxy"),
    Conflict("KubeCoreDNSConfig", "cluster.coreDNS"),
)
_BY_KIND: dict[str, list[tuple[Conflict, tuple[str, ...]]]] = {}
for _one in CONFLICTS:
    _BY_KIND.setdefault(_one.kind, []).append((_one, tuple(_one.path.split("."))))


def conflicts(document: Document, main: Document, talos: Line) -> Findings:
    """What a document and the main one both say, each with both places and the document to use."""
    for conflict, keys in _BY_KIND.get(document.get("kind") or "", ()):
        if conflict.since <= talos and conflict.present(_at(main, keys)) and conflict.when(document):
            instead = conflict.instead or conflict.kind
            tool = ": talosmith config migrate" if talos >= _MIGRATION else ""
            yield Finding(
                "error",
                conflict.path,
                f"is set together with the document {label(identity(document))}; Talos accepts only one of them "
                f"(fix: move {conflict.path} to {instead}{tool})",
                other=Place(identity(document)),
            )


def _at(main: Document, keys: tuple[str, ...]) -> Any:
    value: Any = main
    for key in keys:
        if value is None:
            return None
        value = value.get(key)
    return value
