"""What it means to change a field of a running node's config. Talos takes nearly all of it up without a word.

Some changes a cluster would not survive: they are refused. Some do less than one would think: that is told.
"""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4  # names that a sentence lists
_KUBERNETES_IMAGES = (
    "machine.kubelet.image", "cluster.apiServer.image", "cluster.controllerManager.image", "cluster.scheduler.image",
    "cluster.proxy.image",
)  # fmt: skip
_GIVEN_ONCE = ("cluster.network.podSubnets", "cluster.network.serviceSubnets", "cluster.network.dnsDomain")
_SECRETS = (
    "machine.token", "machine.ca", "cluster.id", "cluster.secret", "cluster.token", "cluster.ca",
    "cluster.aggregatorCA", "cluster.serviceAccount", "cluster.secretboxEncryptionSecret",
    "cluster.aescbcEncryptionSecret", "cluster.etcd.ca",
)  # fmt: skip
_REMARKS = {
    "machine.install": "how Talos is installed changes with the next installation or upgrade, not now",
    "cluster.network.cni": "what Talos has put into Kubernetes for the network before, it does not take away",
    "cluster.proxy.disabled": "a kube-proxy that Talos has put into Kubernetes before, it does not take away",
}


def refusal(paths: Sequence[str], *, running: bool) -> str:
    """Why these fields are not changed; `running`: there may be a cluster that would not survive it."""
    if "machine.type" in paths:
        return (
            "another role: a node gets that by being made anew; `talosmith destroy --target` it, then `talosmith up`"
        )
    if any(path in _KUBERNETES_IMAGES for path in paths):
        return "another version of Kubernetes: an upgrade has an order that `up` has not"
    if running and (given := _within(paths, _GIVEN_ONCE)):
        return f"{listed(given)} changes, and what runs keeps what it was given: put it back, or make a new cluster"
    if running and (secrets := _within(paths, _SECRETS)):
        return f"{listed(secrets)} changes: a rotation of secrets has an order that `up` has not; put them back"
    return ""


def remarks(paths: Sequence[str]) -> list[str]:
    return [remark for place, remark in _REMARKS.items() if _within(paths, [place])]


def _within(paths: Sequence[str], places: Sequence[str]) -> list[str]:
    """The paths that are one of these places, or something in it."""
    return [path for path in paths if any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in places)]


def listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
