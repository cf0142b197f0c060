"""Which add-ons a cluster gets, with chart, version, namespace and order: named, implied, or brought by others."""

from __future__ import annotations

from dataclasses import replace

from talosmith.addons import Addon, Chart, addon, is_known
from talosmith.addons.implied import implied
from talosmith.model.cluster import ChartPin, Cluster, EnabledAddon
from talosmith.model.services import AddonSettings
from talosmith.model.settings import Cni, KubernetesSettings


def with_addons(cluster: Cluster) -> Cluster:
    """The cluster with its add-ons, and with the settings of Kubernetes that follow from them."""
    enabled = _enabled(cluster)
    names = {*enabled}
    resolved = {name: replace(one, after=_present(one, names)) for name, one in enabled.items()}
    brings_network = any(one.stage == "cni" and one.name != "flannel" for one in resolved.values())
    return replace(cluster, addons=resolved, kubernetes=_kubernetes(cluster.kubernetes, resolved, brings_network))


def _enabled(cluster: Cluster) -> dict[str, EnabledAddon]:
    settings, found = cluster.services.addons, dict[str, EnabledAddon]()
    waiting = [(name, f"addons.{name}") for name, one in settings.items() if one.enabled]
    waiting += list(implied(cluster.services))
    for name, reason in waiting:  # grows meanwhile
        own = settings.get(name) or AddonSettings.model_construct()
        if name in found or not own.enabled:
            continue
        if is_known(name):
            known = addon(name)
            found[name] = _of_catalogue(cluster, name, own, reason, known)
            waiting += [(other, f"addon {name}") for other in known.brings]
        elif own.chart or own.manifests:  # else it is not an add-on at all, which a rule reports
            found[name] = _of_user(name, own, reason)
    return found


def _of_catalogue(cluster: Cluster, name: str, own: AddonSettings, reason: str, known: Addon) -> EnabledAddon:
    return EnabledAddon(
        name=name,
        settings=own,
        reason=reason,
        namespace=own.namespace or known.namespace,
        stage=own.stage or known.stage,
        chart=_pin(cluster, own, known.chart),
        after=(*known.after, *own.after),
    )


def _of_user(name: str, own: AddonSettings, reason: str) -> EnabledAddon:
    return EnabledAddon(
        name=name,
        settings=own,
        reason=reason,
        namespace=own.namespace or name,
        stage=own.stage or "apps",
        chart=ChartPin(
            own.repository or own.chart, own.version or "", own.chart if own.repository else "", own.digest or ""
        )
        if own.chart
        else None,
        manifests=own.manifests or "",
        after=tuple(own.after),
    )


def _pin(cluster: Cluster, own: AddonSettings, chart: Chart | None) -> ChartPin | None:
    """The user's source, version and digest instead of ours, one by one."""
    if chart is None:
        return None
    version = own.version or chart.version_for(str(cluster.kubernetes_version).removeprefix("v"))
    if own.chart and not own.repository:
        return ChartPin(own.chart, "" if own.chart.startswith("/") else version, "", own.digest or "")
    source = own.repository or chart.source
    name = "" if source.startswith("oci://") else own.chart or chart.name or chart.source.rpartition("/")[2]
    return ChartPin(source, version, name, own.digest or "")


def _present(one: EnabledAddon, names: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in one.after if name in names and name != one.name))


def _kubernetes(
    wanted: KubernetesSettings, addons: dict[str, EnabledAddon], brings_network: bool
) -> KubernetesSettings:
    """Unset values follow from the add-ons; kube-proxy goes with Cilium alone, which does its work."""
    return wanted.model_copy(
        update={
            "cni": wanted.cni or Cni.model_construct(name="none" if brings_network else "flannel"),
            "kube_proxy": wanted.kube_proxy if wanted.kube_proxy is not None else "cilium" not in addons,
        }
    )
