"""What it means to change a setting of a running node's config. Talos accepts nearly all of it without a word.

Some changes a cluster would not survive: they are refused. Some do less than expected: the plan says so. Configs are
compared by what they mean: a setting that moves from a v1alpha1 field to a document is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from talosmith.desired.config.meaning import Meaning, meaning
from talosmith.desired.config.meaning.kubernetes import DEFAULT_DOMAIN, DEFAULT_PODS, DEFAULT_SERVICES
from talosmith.desired.config.schema.documents import Document
from talosmith.model.resources import SettingChange, shown
from talosmith.plan.blocked import NODES, Blocked

_SHOWN = 4  # names that a sentence lists
_KUBERNETES_IMAGES: Mapping[str, tuple[str, ...]] = {  # with the places of each
    "kubelet": ("machine.kubelet.image", "KubeletConfig/image"),
    "kube-apiserver": ("cluster.apiServer.image", "KubeAPIServerConfig/image"),
    "kube-controller-manager": ("cluster.controllerManager.image", "KubeControllerManagerConfig/image"),
    "kube-scheduler": ("cluster.scheduler.image", "KubeSchedulerConfig/image"),
    "kube-proxy": ("cluster.proxy.image", "KubeProxyConfig/image"),
}
_FIXED_AT_BOOTSTRAP: Mapping[str, Any] = {  # of the network, with what Talos takes if nothing is set
    "podSubnets": [DEFAULT_PODS],
    "serviceSubnets": [DEFAULT_SERVICES],
    "dnsDomain": DEFAULT_DOMAIN,
}
_NETWORK = ("cluster.network.", "KubeNetworkConfig/")


def _main(*path: str) -> Callable[[Meaning], Any]:
    """A field of the v1alpha1 document that no document replaces."""

    def read(config: Meaning) -> Any:
        value: Any = next((one for one in config.documents if "kind" not in one), {})
        for key in path:
            value = (value or {}).get(key)
        return value

    return read


def _section(name: str, key: str = "") -> Callable[[Meaning], Any]:
    def read(config: Meaning) -> Any:
        found = config.section(name)
        return found.get(key) if key and found is not None else found

    return read


def _encryption_keys(config: Meaning) -> list[Any]:
    """Of secrets in etcd, by provider. How else they are encrypted is no secret, and may change."""
    rules = (config.section("etcd_encryption") or {}).get("resources") or ()
    providers = (one for rule in rules for one in rule.get("providers") or ())
    return [
        (name, (value or {}).get("keys")) for one in providers for name, value in one.items() if name != "identity"
    ]


_SECRETS: Mapping[tuple[str, ...], Callable[[Meaning], Any]] = {  # by their places
    ("machine.token",): _main("machine", "token"),
    ("machine.ca",): lambda config: config.os_ca,
    ("cluster.id", "DiscoveryIdentityConfig/clusterID"): lambda config: config.cluster_id,
    ("cluster.secret", "DiscoveryIdentityConfig/clusterSecret"): lambda config: config.cluster_secret,
    ("cluster.token",): _main("cluster", "token"),
    ("cluster.ca", "KubeAPIServerCAConfig"): lambda config: config.kubernetes_ca,
    ("cluster.aggregatorCA", "KubeAggregatorCAConfig"): _section("aggregator_ca", "issuing"),
    ("cluster.serviceAccount", "KubeServiceAccountConfig"): _section("service_account", "key"),
    (
        "cluster.secretboxEncryptionSecret",
        "cluster.aescbcEncryptionSecret",
        "KubeEtcdEncryptionConfig",
    ): _encryption_keys,
    ("cluster.etcd.ca",): _main("cluster", "etcd", "ca"),
}
_REMARKS: Mapping[str, Callable[[Meaning], Any]] = {
    "install settings take effect with the next installation or upgrade, not now": _section("install"),
    "Talos does not delete the objects of the previous CNI from Kubernetes": lambda config: config.cni,
    "Talos does not delete the kube-proxy DaemonSet it created before": lambda config: config.proxy_enabled,
}
RECREATE = f"recreate the node: talosmith destroy {NODES}, then talosmith up"


def refusal(
    before: Sequence[Document],
    after: Sequence[Document],
    paths: Sequence[str],
    changed: Sequence[SettingChange],
    *,
    running: bool,
) -> Blocked | None:
    """Why a config is not changed to another; `running`: there may be a cluster that would not survive it."""
    if "machine.type" in paths:
        role = tuple(one for one in changed if one.name == "machine.type")
        return Blocked(cause="the role of a node cannot change in place", settings=role, fix=RECREATE)
    old, new = meaning(before), meaning(after)
    if images := [name for name in _KUBERNETES_IMAGES if old.images.get(name) != new.images.get(name)]:
        return _kubernetes(images, old, new, paths)
    if running and (settings := _fixed(old, new, paths)):
        return Blocked(
            cause="cannot change after bootstrap: running components keep the old value",
            settings=settings,
            fix="set it back in the inventory, or create a new cluster",
        )
    secrets = [places for places, read in _SECRETS.items() if read(old) != read(new)] if running else []
    if secrets:
        return Blocked(
            cause="the cluster runs with other secrets, and `up` does not rotate secrets",
            fix="put back the secrets file the cluster was created with",
            symptoms=tuple(f"{path} differs" for places in secrets for path in _found(places, paths)),
        )
    return None


def _fixed(old: Meaning, new: Meaning, paths: Sequence[str]) -> tuple[SettingChange, ...]:
    found = []
    for key, default in _FIXED_AT_BOOTSTRAP.items():
        before, after = ((one.section("network") or {}).get(key) or default for one in (old, new))
        if before != after:
            place = _found([f"{place}{key}" for place in _NETWORK], paths)[0].partition("[")[0]
            found.append(SettingChange(place, before, after))
    return tuple(found)


def _kubernetes(images: Sequence[str], old: Meaning, new: Meaning, paths: Sequence[str]) -> Blocked:
    """One version is in up to five images: it is shown once, unless the images differ in more than their tags."""
    settings = tuple(
        SettingChange(_found(_KUBERNETES_IMAGES[name], paths)[0], old.images.get(name), new.images.get(name))
        for name in images
    )
    tags = {_tags(one) for one in settings}
    symptoms = tuple(f"{one.name} differs" for one in settings)
    cause = "Kubernetes version differs, and `up` does not upgrade"
    if len(tags) == 1 and (pair := tags.pop()) and pair[0] != pair[1]:
        before, after = pair
        return Blocked(
            cause=cause,
            settings=(SettingChange("kubernetes_version", before, after),),
            fix=f"talosctl upgrade-k8s --to {after.removeprefix('v')}, or set kubernetes_version back to {before}",
            symptoms=symptoms,
        )
    return Blocked(
        cause=cause,
        settings=settings,
        fix="set the images back, or upgrade with talosctl upgrade-k8s",
    )


def _tags(change: SettingChange) -> tuple[str, str]:
    before, after = (shown(value).rpartition(":")[2] for value in (change.before, change.after))
    return before, after


def _found(places: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The changed paths at these places, as the plan shows them; the first place if none is named there."""
    found = [path for path in paths if any(path == one or path.startswith(_inside(one)) for one in places)]
    return found or [places[0]]


def _inside(place: str) -> tuple[str, ...]:
    return f"{place}.", f"{place}[", f"{place}/"


def remarks(before: Sequence[Document], after: Sequence[Document]) -> list[str]:
    old, new = meaning(before), meaning(after)
    return [remark for remark, read in _REMARKS.items() if read(old) != read(new)]


def listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
