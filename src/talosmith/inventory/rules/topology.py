"""The number of nodes, and whether the cluster tolerates the failure of one."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.resolve import GROUP, Resolved, entries

MANY_VOTERS = 7


def control_planes_can_vote(resolved: Resolved) -> Iterator[Finding]:
    count = len(resolved.cluster.controlplanes)
    if count > MANY_VOTERS:
        why = "every write to etcd needs a majority of its members"
        yield warning(("controlplane",), f"etcd with {count} members is slow", why, "3 or 5 are usual")
    if count and count % 2 == 0:
        why = f"etcd with {count} members tolerates no more failures than with {count - 1}"
        yield warning(("controlplane",), f"an even number of control planes ({count})", why, "use an odd number")


def api_survives_a_node(resolved: Resolved) -> Iterator[Finding]:
    cluster = resolved.cluster
    network, wanted = cluster.network, resolved.inventory.network
    count = len(cluster.controlplanes)
    if count == 1 and wanted.vip is not None:
        why = "no other control plane can take over the VIP"
        yield warning(("network", "vip"), "a VIP with one control plane", why, "leave it out, or use three")
    if count < 2 or network.vip is not None or cluster.provider.has_api_balancer:
        return
    own = next((node for node in cluster.controlplanes if str(node.ip) == cluster.endpoint.host), None)
    if wanted.endpoint is None or own is not None:
        path = ("network", "endpoint") if wanted.endpoint else ("controlplane",)
        what = f"{count} control planes, but the endpoint of the Kubernetes API is `{own.name if own else ''}` alone"
        fix = "set `network.vip`, or `network.endpoint` to a load balancer or DNS name"
        yield error(path, what, "when that node fails, the Kubernetes API is unreachable", fix)


def nodes_are_listed_or_counted(resolved: Resolved) -> Iterator[Finding]:
    for key in GROUP.values():
        group = getattr(resolved.inventory, key)
        if group.nodes is not None and group.count is not None:
            yield error((key, "count"), f"`{key}` has both `count` and `nodes`", fix="keep one of the two")
        if group.nodes is not None and group.overrides:
            what = f"`{key}.overrides` needs `count`, not a list of nodes"
            yield error((key, "overrides"), what, fix="set the values in the list of nodes")


def overrides_name_nodes(resolved: Resolved) -> Iterator[Finding]:
    for role, key in GROUP.items():
        group = getattr(resolved.inventory, key)
        names = {name for name, _, _ in entries(group, role)} if group.overrides else set()
        for name in group.overrides.keys() - names:
            close = get_close_matches(name, names, n=1)
            fix = f"did you mean `{close[0]}`?" if close else ""
            yield error((key, "overrides", name), f"`{key}` has no node `{name}`", fix=fix)
