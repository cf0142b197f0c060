"""Add-ons as objects: charts rendered with the inventory's values, objects of our own, manifests of the user.

Pure but for the renderer's cache: charts, manifests and secrets are given. What cannot be rendered is a problem of
its add-on, so that the plan can report all of them before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talosmith.addons import Addon, addon, is_known
from talosmith.charts import ChartContent, render_chart
from talosmith.desired.addon_checks import check_objects
from talosmith.desired.addon_secrets import Revealed
from talosmith.desired.secrets_file import Secrets
from talosmith.desired.server_fields import plain, stored_path
from talosmith.desired.target import owner_of
from talosmith.errors import TalosmithError
from talosmith.helm import Hook, Release, Rendered, capabilities
from talosmith.helm.chart import overlaid
from talosmith.model.cluster import Cluster, EnabledAddon
from talosmith.model.services import AddonStage
from talosmith.model.values import SecretRef

if TYPE_CHECKING:  # whose modules build kustomizations
    from talosmith.kustomize import Manifests

Object = Mapping[str, Any]
Identity = tuple[str, str, str, str]  # apiVersion, kind, namespace, name
Path = tuple[str | int, ...]

CRD = "CustomResourceDefinition"
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet")
_CLUSTER_SCOPED = {  # besides those whose name begins with Cluster
    CRD, "APIService", "CSIDriver", "GatewayClass", "IngressClass", "MutatingWebhookConfiguration", "Namespace",
    "PersistentVolume", "PriorityClass", "RuntimeClass", "StorageClass", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeSnapshotClass",
}  # fmt: skip
_ALWAYS_THERE = ("kube-system", "kube-public", "kube-node-lease", "default")
_BEFORE, _AFTER = {"pre-install", "pre-upgrade"}, {"post-install", "post-upgrade"}
_AGGREGATED = ("apiregistration.k8s.io/v1",)  # every server has it; what Helm assumes without one does not
_POD_SECURITY = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True, slots=True)
class AddonProblem:
    """Why an add-on cannot be installed."""

    addon: str
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredAddon:
    """Everything that an add-on puts into the cluster. Secrets in it are plain text: it is never shown or stored."""

    name: str
    namespace: str
    stage: AddonStage = "apps"
    version: str = ""  # of its chart
    after: tuple[str, ...] = ()
    space: Object | None = None  # its Namespace, which other add-ons may share; None for those that always exist
    crds: tuple[Object, ...] = ()
    before: tuple[Hook, ...] = ()  # Helm's hooks around the objects
    objects: tuple[Object, ...] = ()
    later: tuple[Hook, ...] = ()
    config: tuple[Object, ...] = ()  # needs the add-on itself: its CRDs or its webhook
    awaited: Mapping[str, str] = field(default_factory=dict)  # kind of `config` -> condition
    volatile: Mapping[Identity, tuple[Path, ...]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()  # secret texts, which no diff may show
    note: str = ""  # of the renderer

    @property
    def empty(self) -> bool:
        return not (self.crds or self.objects or self.config)

    @property
    def has_workloads(self) -> bool:
        """Whether pods of it run until it is removed, which can be waited for."""
        return any(one.get("kind") in WORKLOADS for one in self.objects)

    @property
    def everything(self) -> tuple[Object, ...]:
        return (*self.crds, *self.objects, *self.config)


@dataclass(frozen=True, slots=True)
class AddonSources:
    """What was read for the add-ons: charts and manifests by name, and what could not be read."""

    charts: Mapping[str, ChartContent] = field(default_factory=dict)
    manifests: Mapping[str, Manifests] = field(default_factory=dict)
    problems: tuple[AddonProblem, ...] = ()


def desired_addons(
    cluster: Cluster, sources: AddonSources, secrets: Secrets
) -> tuple[dict[str, DesiredAddon], tuple[AddonProblem, ...]]:
    """The add-ons of a cluster, and every reason why one of them cannot be installed."""
    found: dict[str, DesiredAddon] = {}
    problems = [*sources.problems]
    unread = {one.addon for one in problems}
    privileged = {one.namespace for name, one in cluster.addons.items() if is_known(name) and addon(name).privileged}
    for name, enabled in cluster.addons.items():
        if name in unread:
            continue
        try:
            made = _desired(cluster, enabled, sources, secrets, privileged)
            check_objects(made.name, made.namespace, made.everything)
        except TalosmithError as wrong:
            problems.append(AddonProblem(name, str(wrong), wrong.hint))
        else:
            if not made.empty:
                found[name] = made
    return _each_once(found, problems), tuple(problems)


def _each_once(addons: Mapping[str, DesiredAddon], problems: list[AddonProblem]) -> dict[str, DesiredAddon]:
    """A definition that several add-ons bring belongs to the first of them; whatever else they share is a problem."""
    owners: dict[tuple[str, ...], tuple[str, Object]] = {}
    found = {}
    for name, one in addons.items():
        crds = []
        for item in one.everything:
            owner, same = owners.setdefault(_identity(item, one), (name, item))
            if owner == name:
                crds += [item] if _is_crd(item) else []
            elif not _is_crd(item) or same.get("spec") != item.get("spec"):
                shown = f"{item['kind']} {item['metadata']['name']}"
                what = f"{shown} is also an object of add-on {owner}"
                problems.append(AddonProblem(name, what, "use versions that agree, or switch one of them off"))
        found[name] = replace(one, crds=tuple(crds))
    return found


def _identity(item: Object, one: DesiredAddon) -> tuple[str, ...]:
    meta, kind = item["metadata"], str(item["kind"])
    group = str(item["apiVersion"]).rpartition("/")[0]
    space = (
        "" if kind in _CLUSTER_SCOPED or kind.startswith("Cluster") else str(meta.get("namespace") or one.namespace)
    )
    return group, kind, space, str(meta["name"])


def _desired(
    cluster: Cluster, enabled: EnabledAddon, sources: AddonSources, secrets: Secrets, privileged: set[str]
) -> DesiredAddon:
    known = addon(enabled.name) if is_known(enabled.name) else None
    reveal = Revealed(secrets, owner_of(cluster, secrets.bundle).mark)
    rendered = _rendered(cluster, enabled, known, sources.charts.get(enabled.name), reveal)
    given = sources.manifests.get(enabled.name)
    own = list(known.objects(cluster)) if known else list(given.objects if given else ())
    of_chart = [_owned(one.content, enabled) for one in rendered.objects]
    objects = [*of_chart, *map(reveal, own)]
    content = sources.charts.get(enabled.name)
    return DesiredAddon(
        name=enabled.name,
        namespace=enabled.namespace,
        stage=enabled.stage,
        version=content.version if content else "",
        after=enabled.after,
        space=_space(enabled, objects, privileged),
        crds=tuple(plain([*(one.content for one in rendered.crds), *(one for one in objects if _is_crd(one))])),
        before=_hooks(rendered, _BEFORE),
        objects=tuple(plain(one for one in objects if not _is_crd(one))),
        later=_hooks(rendered, _AFTER),
        config=tuple(plain(map(reveal, known.config(cluster) if known else ()))),
        awaited=known.awaited if known else {},
        volatile={one: tuple(map(stored_path, paths)) for one, paths in rendered.volatile.items()},
        hidden=frozenset(reveal.texts),
        note=rendered.note or (given.note if given else ""),
    )


def values_of(cluster: Cluster, enabled: EnabledAddon) -> dict[str, Any]:
    """The Helm values of an add-on, the user's over ours; secrets as the references that name them."""
    own = addon(enabled.name).values(cluster) if is_known(enabled.name) else {}
    found: dict[str, Any] = _named(overlaid(own, enabled.settings.values))
    return found


def _named(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _named(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_named(inner) for inner in value]
    return str(value) if isinstance(value, SecretRef) else value


def _rendered(
    cluster: Cluster, enabled: EnabledAddon, known: Addon | None, chart: ChartContent | None, reveal: Revealed
) -> Rendered:
    if chart is None:
        return Rendered((), (), ())
    values = [reveal(known.values(cluster))] if known else []
    values.append(reveal(enabled.settings.values, references=True))
    release = Release(enabled.name, enabled.namespace)
    known_apis = capabilities(str(cluster.kubernetes_version), _AGGREGATED)
    return render_chart(chart, release, values, cluster=known_apis, private=bool(reveal.revealed))


def _owned(item: Object, enabled: EnabledAddon) -> Object:
    """With the metadata by which Helm knows its own objects, so that Helm and Flux take them over as they are."""
    meta = dict(item.get("metadata") or {})
    meta["labels"] = {**(meta.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
    meta["annotations"] = {
        **(meta.get("annotations") or {}),
        "meta.helm.sh/release-name": enabled.name,
        "meta.helm.sh/release-namespace": enabled.namespace,
    }
    return {**item, "metadata": meta}


def _space(enabled: EnabledAddon, objects: Sequence[Object], privileged: set[str]) -> Object | None:
    brought = {(one.get("metadata") or {}).get("name") for one in objects if one.get("kind") == "Namespace"}
    if enabled.namespace in _ALWAYS_THERE or enabled.namespace in brought:
        return None
    labels = {"labels": {_POD_SECURITY: "privileged"}} if enabled.namespace in privileged else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": enabled.namespace, **labels}}


def _hooks(rendered: Rendered, events: set[str]) -> tuple[Hook, ...]:
    """In Helm's order. Hooks of tests, deletions and rollbacks are not run."""
    return tuple(hook for hook in rendered.hooks if events.intersection(hook.events))


def _is_crd(item: Object) -> bool:
    return bool(item.get("kind") == CRD)
