"""tuppr: upgrades Talos and Kubernetes from inside the cluster, to the versions of the inventory.

It goes by two objects that talosmith applies once it is ready. It does not check that upgrades go minor by minor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.addons.addon import Addon, Chart, Finding, MachineNeeds, Object, TalosApiAccess, namespace_of
from talosmith.model.cluster import Cluster

NAME = "tuppr"
_API_VERSION = "tuppr.home-operations.com/v1alpha1"


def config(cluster: Cluster) -> Sequence[Object]:
    return (
        _object("TalosUpgrade", "talos", {"talos": {"version": str(cluster.talos_version)}}),
        _object("KubernetesUpgrade", "kubernetes", {"kubernetes": {"version": str(cluster.kubernetes_version)}}),
    )


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(api_access=(TalosApiAccess(namespace_of(cluster, NAME), "os:admin"),))


def check(cluster: Cluster) -> Iterator[Finding]:
    yield Finding(
        "warning",
        ("addons", NAME),
        f"{NAME} upgrades and reboots nodes by itself once talos_version or kubernetes_version changes",
        "neither talosmith's plan nor its etcd quorum checks cover these upgrades",
        f"do not run `talosmith upgrade` meanwhile; without {NAME}, `talosmith upgrade` alone upgrades nodes",
    )


ADDON = Addon(
    title="Upgrades Talos and Kubernetes from inside the cluster",
    namespace="system-upgrade",
    chart=Chart("oci://ghcr.io/home-operations/charts/tuppr", {"0.5.0": ">=1.25"}),
    config=config,
    machine=machine,
    check=check,
    privileged=True,
    rendered_by_tests=False,
)
