"""What it means to change a field of a running node's config. Talos accepts nearly all of it without a word.

Some changes a cluster would not survive: they are refused. Some do less than expected: the plan says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from talosmith.model.resources import SettingChange, shown
from talosmith.plan.blocked import NODES, Blocked

_SHOWN = 4  # names that a sentence lists
_KUBERNETES_IMAGES = (
    "machine.kubelet.image", "cluster.apiServer.image", "cluster.controllerManager.image", "cluster.scheduler.image",
    "cluster.proxy.image",
)  # fmt: skip
_FIXED_AT_BOOTSTRAP = ("cluster.network.podSubnets", "cluster.network.serviceSubnets", "cluster.network.dnsDomain")
_SECRETS = (
    "machine.token", "machine.ca", "cluster.id", "cluster.secret", "cluster.token", "cluster.ca",
    "cluster.aggregatorCA", "cluster.serviceAccount", "cluster.secretboxEncryptionSecret",
    "cluster.aescbcEncryptionSecret", "cluster.etcd.ca",
)  # fmt: skip
_REMARKS = {
    "machine.install": "install settings take effect with the next installation or upgrade, not now",
    "cluster.network.cni": "Talos does not delete the objects of the previous CNI from Kubernetes",
    "cluster.proxy.disabled": "Talos does not delete the kube-proxy DaemonSet it created before",
}
RECREATE = f"recreate the node: talosmith destroy {NODES}, then talosmith up"


def refusal(paths: Sequence[str], changed: Sequence[SettingChange], *, running: bool) -> Blocked | None:
    """Why these fields are not changed; `running`: there may be a cluster that would not survive it."""
    values = {one.name: one for one in changed}
    if "machine.type" in paths:
        role = tuple(one for one in changed if one.name == "machine.type")
        return Blocked(cause="the role of a node cannot change in place", settings=role, fix=RECREATE)
    if images := [path for path in paths if path in _KUBERNETES_IMAGES]:
        return _kubernetes(images, values)
    if running and _within(paths, _FIXED_AT_BOOTSTRAP):
        return Blocked(
            cause="cannot change after bootstrap: running components keep the old value",
            settings=tuple(one for one in changed if _within([one.name], _FIXED_AT_BOOTSTRAP)),
            fix="set it back in the inventory, or create a new cluster",
        )
    if running and (secrets := _within(paths, _SECRETS)):
        return Blocked(
            cause="the cluster runs with other secrets, and `up` does not rotate secrets",
            fix="put back the secrets file the cluster was created with",
            symptoms=tuple(f"{path} differs" for path in secrets),
        )
    return None


def _kubernetes(images: Sequence[str], values: Mapping[str, SettingChange]) -> Blocked:
    """One version is in up to five images: it is shown once, unless the images differ in more than their tags."""
    tags = {_tags(values[path]) for path in images if path in values}
    symptoms = tuple(f"{path} differs" for path in images)
    cause = "Kubernetes version differs, and `up` does not upgrade"
    if len(tags) == 1 and (pair := tags.pop()) and pair[0] != pair[1]:
        before, after = pair
        return Blocked(
            cause=cause,
            settings=(SettingChange("kubernetes_version", before, after),),
            fix=f"talosctl upgrade-k8s --to {after.removeprefix('v')}, or set kubernetes_version back to {before}",
            symptoms=symptoms,
        )
    settings = tuple(values[path] for path in images if path in values)
    return Blocked(cause=cause, settings=settings, fix="set the images back, or upgrade with talosctl upgrade-k8s")


def _tags(change: SettingChange) -> tuple[str, str]:
    before, after = (shown(value).rpartition(":")[2] for value in (change.before, change.after))
    return before, after


def remarks(paths: Sequence[str]) -> list[str]:
    return [remark for place, remark in _REMARKS.items() if _within(paths, [place])]


def _within(paths: Sequence[str], places: Sequence[str]) -> list[str]:
    """The paths that are one of these places, or something in it."""
    return [path for path in paths if any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in places)]


def listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
