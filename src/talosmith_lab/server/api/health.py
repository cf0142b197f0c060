"""The health check that a node runs over its cluster: Talos' own conditions, in Talos' order.

Those that need the Kubernetes API of a real cluster are left to who has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from grpclib.const import Status

from talosmith.talos.proto import cluster_pb2 as pb
from talosmith_lab import naming, quorum
from talosmith_lab.machine import Machine
from talosmith_lab.server.methods import Call, answers, fail

Check = Callable[[Call, list[Machine]], str]


@answers("cluster.ClusterService/HealthCheck")
async def health(call: Call, request: pb.HealthCheckRequest) -> AsyncIterator[pb.HealthCheckProgress]:
    deadline = call.world.now() + (request.wait_timeout.ToTimedelta().total_seconds() or 1200.0)
    nodes = _nodes(call, request.cluster_info)
    for name, check in CHECKS:
        told = ""
        while why := check(call, nodes):
            if why != told:
                told = why
                yield pb.HealthCheckProgress(message=f"waiting for {name}: {why}")
            left = deadline - call.world.now()
            try:
                async with asyncio.timeout(max(left, 0.001)):
                    await _any_change(call, nodes)
            except TimeoutError:
                raise fail(Status.DEADLINE_EXCEEDED, f"healthcheck error: {name}: {why}") from None
        yield pb.HealthCheckProgress(message=f"waiting for {name}: OK")


async def _any_change(call: Call, nodes: list[Machine]) -> None:
    waits = [asyncio.ensure_future(call.engine.changed(node.name)) for node in nodes]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _nodes(call: Call, info: pb.ClusterInfo) -> list[Machine]:
    world, config = call.world, call.world.config(call.machine)
    group = world.group(config.cluster_id) if config else []
    named = [*info.control_plane_nodes, *info.worker_nodes]
    if not named:
        return list(group)
    return [one for one in group if set(named) & {*naming.addresses(world, one), naming.hostname(world, one)}]


def _control_planes(call: Call, nodes: list[Machine]) -> list[Machine]:
    return [node for node in nodes if getattr(call.world.config(node), "is_controlplane", False)]


def _etcd_healthy(call: Call, nodes: list[Machine]) -> str:
    ill = [node.name for node in _control_planes(call, nodes) if not quorum.follows(call.world, node)]
    return f"etcd is not healthy on {', '.join(ill)}" if ill else ""


def _etcd_consistent(call: Call, nodes: list[Machine]) -> str:
    clusters = {cluster.uid for node in _control_planes(call, nodes) if (cluster := call.world.etcd_of(node))}
    return "" if len(clusters) == 1 else "etcd members are not of one cluster"


def _apid_ready(call: Call, nodes: list[Machine]) -> str:
    world = call.world
    down = [node.name for node in nodes if not node.runs("apid") or not world.talk(call.machine.name, node.name)]
    return f"apid is not ready on {', '.join(down)}" if down else ""


def _kubelet_healthy(call: Call, nodes: list[Machine]) -> str:
    ill = [node.name for node in _control_planes(call, nodes) if not node.runs("kubelet")]
    return f"kubelet is not healthy on {', '.join(ill)}" if ill else ""


def _booted(call: Call, nodes: list[Machine]) -> str:
    waiting = [node.name for node in nodes if node.run is None or node.run.stage != "running"]
    return f"not yet running: {', '.join(waiting)}" if waiting else ""


def _nodes_ready(call: Call, nodes: list[Machine]) -> str:
    waiting = [node.name for node in nodes if node.run is None or not node.run.node_ready]
    return f"some nodes are not ready: {', '.join(waiting)}" if waiting else ""


CHECKS: tuple[tuple[str, Check], ...] = (
    ("etcd to be healthy", _etcd_healthy),
    ("etcd members to be consistent across nodes", _etcd_consistent),
    ("apid to be ready", _apid_ready),
    ("kubelet to be healthy", _kubelet_healthy),
    ("all nodes to finish boot sequence", _booted),
    ("all k8s nodes to report ready", _nodes_ready),
)
