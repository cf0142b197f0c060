"""Add-ons: known by name, complete, and possible with the rest of the inventory."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from talosmith.addons import NAMES, addon, is_known
from talosmith.addons.addon import supports
from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.resolve import Resolved
from talosmith.model.services import AddonSettings

_LONGEST = 40  # the name is a part of the names of objects in the cluster


def addons_are_known(resolved: Resolved) -> Iterator[Finding]:
    for name, settings in resolved.inventory.addons.items():
        if is_known(name) or settings.chart or settings.manifests:
            continue
        close = get_close_matches(name, NAMES, n=1)
        fix = f"did you mean `{close[0]}`?" if close else f"known add-ons: {', '.join(NAMES)}."
        fix += " An add-on of your own needs `chart` or `manifests`"
        yield error(("addons", name), f"`{name}` is not an add-on", fix=fix)


def addons_are_complete(resolved: Resolved) -> Iterator[Finding]:
    for name, settings in resolved.inventory.addons.items():
        for what, fix in _incomplete(name, settings):
            yield error(("addons", name), what, fix=fix)
        for other in settings.after:
            if other not in resolved.inventory.addons and other not in resolved.cluster.addons:
                yield error(("addons", name, "after"), f"`{other}` is not an add-on of this cluster")


def _incomplete(name: str, own: AddonSettings) -> Iterator[tuple[str, str]]:
    if len(name) > _LONGEST:
        yield f"the name of an add-on has {_LONGEST} characters at most", "choose a shorter one"
    if own.chart and own.manifests:
        yield "`chart` and `manifests` exclude each other", "remove one of them"
    if is_known(name) and own.manifests:
        yield f"`{name}` is an add-on of talosmith, which has no `manifests`", "choose another name for yours"
    if own.repository and not own.chart and not is_known(name):
        yield "`repository` needs `chart`, the chart's name there", "for example chart: podinfo"
    if own.manifests and (own.values or own.version):
        yield "`values` and `version` are for charts", "remove them, or give a `chart`"
    elsewhere = own.chart and (own.repository or own.chart.startswith("oci://"))
    if elsewhere and not own.version and not is_known(name):
        yield "a chart needs its `version`", "versions are pinned, so that the same inventory gives the same cluster"
    if own.chart and not elsewhere and not own.chart.startswith("/"):
        yield (
            f"`{own.chart}` is neither oci://… nor a path",
            "begin a path with ./; a chart of an HTTP repository needs `repository`",
        )


def addons_are_possible(resolved: Resolved) -> Iterator[Finding]:
    """What each add-on asks of the inventory, and whether its version supports this Kubernetes."""
    cluster = resolved.cluster
    kubernetes = str(cluster.kubernetes_version).removeprefix("v")
    for name in filter(is_known, cluster.addons):
        known = addon(name)
        for one in known.check(cluster):
            make = error if one.severity == "error" else warning
            yield make(one.path, one.what, one.why, one.fix)
        pin = cluster.addons[name].chart
        supported = known.chart.versions.get(pin.version, "") if known.chart and pin else ""
        if supported and not supports(supported, kubernetes):
            what = f"{name} {pin.version if pin else ''} supports Kubernetes {supported}, not {kubernetes}"
            yield warning(("addons", name), what, fix=f"pin another version: addons.{name}.version")


def one_cni(resolved: Resolved) -> Iterator[Finding]:
    cluster = resolved.cluster
    networks = [name for name, one in cluster.addons.items() if one.stage == "cni"]
    if len(networks) > 1:
        yield error(("addons", networks[1]), f"{' and '.join(networks)} are both a CNI", fix="switch one of them off")
    cni = cluster.kubernetes.cni
    if networks and networks != ["flannel"] and cni is not None and cni.name != "none":
        what = f"`kubernetes.cni: {cni.name}` and the add-on {networks[0]} are both a CNI"
        yield error(("kubernetes", "cni"), what, fix="remove `kubernetes.cni`, or set it to none")
