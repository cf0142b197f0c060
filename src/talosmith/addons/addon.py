"""What an add-on is: the fields that every folder of this package fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.model.cluster import Cluster
from talosmith.model.services import AddonStage
from talosmith.model.values import SecretRef

Values = dict[str, Any]
Object = dict[str, Any]
Document = dict[str, Any]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Chart:
    """Where a chart is, and which of its versions fit which Kubernetes.

    `source` is `oci://host/path` of a registry, or the URL of an HTTP repository that has the chart `name`.
    `versions` are pinned, the newest first; each with the Kubernetes versions that it supports (`>=1.28 <1.33`).
    """

    source: str
    versions: Mapping[str, str]
    name: str = ""

    def version_for(self, kubernetes: str) -> str:
        """The newest version that supports this Kubernetes (`1.36.3`); the newest of all if none says so."""
        fitting = (one for one, supported in self.versions.items() if supports(supported, kubernetes))
        return next(fitting, next(iter(self.versions)))


def supports(supported: str, kubernetes: str) -> bool:
    """Whether a Kubernetes version is in a range such as `>=1.30` or `>=1.28 <1.33`."""
    version = _numbers(kubernetes)
    for bound in supported.split():
        least = bound.startswith(">=")
        limit = _numbers(bound.removeprefix(">=").removeprefix("<"))
        if (version[: len(limit)] < limit) if least else (version[: len(limit)] >= limit):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("-")[0].split("."))


@dataclass(frozen=True, slots=True)
class TalosApiAccess:
    """Pods of `namespace` may use the Talos API with `role`, by a ServiceAccount of talos.dev."""

    namespace: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineNeeds:
    """What an add-on asks of machine configs: documents that are merged into those of all nodes, or of a role.

    A document without `kind` is the main one (`machine`, `cluster`). Patches of the user are merged after these.
    """

    all_nodes: tuple[Document, ...] = ()
    controlplanes: tuple[Document, ...] = ()
    api_access: tuple[TalosApiAccess, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterMark:
    """In values: the cluster's name and id, by which a provider knows what Kubernetes creates there as the cluster's.

    The id comes from the cluster's secrets, so it is filled in where add-ons are rendered.
    """


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the inventory for this add-on. `path` is the key that it is about."""

    severity: Severity
    path: tuple[str, ...]
    what: str
    why: str = ""
    fix: str = ""


def _no_values(cluster: Cluster) -> Values:
    return {}


def _no_objects(cluster: Cluster) -> Sequence[Object]:
    return ()


def _no_needs(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds()


def _no_findings(cluster: Cluster) -> Iterator[Finding]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Addon:
    """One add-on. Every function is pure and gets the resolved cluster.

    Values and objects may hold `SecretRef`s (`cluster.services.dns.token`): they are replaced by the secret's text
    when the add-on is rendered, and no diff, plan or journal shows them.
    """

    title: str  # in a few words, for `talosmith addons list`
    namespace: str
    chart: Chart | None = None  # None: objects of our own alone
    stage: AddonStage = "apps"
    values: Callable[[Cluster], Values] = _no_values  # Helm values; the user's are laid over them
    objects: Callable[[Cluster], Sequence[Object]] = _no_objects  # applied together with the chart's
    config: Callable[[Cluster], Sequence[Object]] = (
        _no_objects  # applied once it is ready: they need its CRDs or webhook
    )
    machine: Callable[[Cluster], MachineNeeds] = _no_needs
    check: Callable[[Cluster], Iterator[Finding]] = _no_findings
    after: tuple[str, ...] = ()  # add-ons that come first, if they are enabled
    brings: tuple[str, ...] = ()  # add-ons that are enabled along with it, unless the inventory switches them off
    privileged: bool = False  # its namespace has to admit privileged pods (Pod Security); kube-system always does
    awaited: Mapping[str, str] = field(default_factory=dict)  # kind of its `config` -> condition, such as `Ready`
    rendered_by_tests: bool = True  # False: the chart cannot be had where the tests run


def namespace_of(cluster: Cluster, name: str) -> str:
    """Where an add-on is installed: the user may have chosen another namespace than ours."""
    return cluster.addons[name].namespace


def secret(name: str, namespace: str, data: Mapping[str, str | SecretRef]) -> Object:
    """A Secret object; its values may be references."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "Opaque",
        "stringData": dict(data),
    }
