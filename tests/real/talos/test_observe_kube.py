"""Nodes of Kubernetes as observing sees them, by a real API server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

from talosmith.kube import KubeClient, cordon, delete_node
from talosmith.observed import kubernetes
from talosmith.observed.kubernetes import look_at_kubernetes
from talosmith.observed.world import KubeNodeSeen, Unknown
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.fixtures import kube_apiserver

ENOUGH = 240.0  # seconds for an answer, where the limit is not what is tested

__all__ = ["kube_apiserver"]


@pytest.fixture
async def nodes(kube_apiserver: ApiServer) -> AsyncIterator[list[str]]:
    """Three: one Ready, one cordoned, one that is not Ready."""
    names = [f"{what}-{uuid.uuid4().hex[:8]}" for what in ("ready", "cordoned", "ill")]
    async with KubeClient.from_bundle(kube_apiserver.bundle, [kube_apiserver.address]) as client:
        for name in names:
            item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            made = dict(await client.create(item))
            condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
            if name == names[2]:
                condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no CNI"}
            made["status"] = {"conditions": [condition], "nodeInfo": _info()}
            await client.replace(made, subresource="status")
        await cordon(client, names[1])
        yield names
        for name in names:
            await delete_node(client, name)


def _info() -> dict[str, str]:
    keys = "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeProxyVersion"
    return {
        **dict.fromkeys(keys.split(), ""),
        "kubeletVersion": "v1.36.3",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def asked(server: ApiServer) -> kubernetes.AskKube:
    return lambda addresses: KubeClient.from_bundle(server.bundle, addresses)


async def test_nodes_are_seen_as_they_are(
    kube_apiserver: ApiServer, nodes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "_PAGE", "1")  # page by page
    monkeypatch.setattr(kubernetes, "_ANSWER", ENOUGH)
    found = await look_at_kubernetes(asked(kube_apiserver), [kube_apiserver.address])
    assert isinstance(found, dict)
    ready, cordoned, ill = nodes
    assert found[ready] == KubeNodeSeen(name=ready, ready=True, version="v1.36.3")
    assert found[cordoned] == KubeNodeSeen(name=cordoned, ready=True, version="v1.36.3", cordoned_by="talosmith")
    assert found[ill] == KubeNodeSeen(name=ill, ready=False, version="v1.36.3", reason="KubeletNotReady: no CNI")


async def test_the_next_control_plane_is_asked_where_one_does_not_answer(
    kube_apiserver: ApiServer, nodes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "_ANSWER", ENOUGH)
    found = await look_at_kubernetes(asked(kube_apiserver), ["127.0.0.1:1", kube_apiserver.address])
    assert isinstance(found, dict)
    assert set(nodes) <= set(found)


async def test_an_api_that_is_not_there_is_unknown_at_once(
    kube_apiserver: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked once, and none of them for as long as it might take to answer."""
    monkeypatch.setattr(kubernetes, "_ANSWER", ENOUGH)
    connections = 0

    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server, asyncio.timeout(ENOUGH / 2):
        curt = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = await look_at_kubernetes(asked(kube_apiserver), ["127.0.0.1:1", curt])
    assert isinstance(found, Unknown)
    assert "127.0.0.1:1" in found.why and curt in found.why
    assert connections == 1
