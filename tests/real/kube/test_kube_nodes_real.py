"""Nodes, and the certificates their kubelets ask for, on a real API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from talosmith.kube import (
    Credentials,
    ExpectedNode,
    KubeClient,
    Ref,
    Taint,
    add_taint,
    approve_serving_certificates,
    delete_node,
    find_node,
    list_nodes,
    remove_taint,
    set_labels,
)
from talosmith.kube.objects import condition
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENT
from tests.real.kube.signing import certificate_request, serving_request

CSR = ("certificates.k8s.io/v1", "CertificateSigningRequest")


async def test_what_a_node_says_of_itself(client: KubeClient, unique: str) -> None:
    labels = {"node-role.kubernetes.io/control-plane": "", "zone": "a"}
    spec = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique, "labels": labels}, "spec": spec}
    )
    info = dict.fromkeys(
        ("machineID", "systemUUID", "bootID", "architecture", "operatingSystem", "kubeProxyVersion"), ""
    )
    status = {
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "no network yet"}
        ],
        "addresses": [{"type": "InternalIP", "address": "10.5.0.2"}, {"type": "Hostname", "address": unique}],
        "nodeInfo": {
            **info,
            "kubeletVersion": "v1.36.3",
            "osImage": "Talos (v1.13.9)",
            "kernelVersion": "6.18.0-talos",
            "containerRuntimeVersion": "containerd://2.2.7",
        },
    }
    await client.patch(Ref("v1", "Node", unique), {"status": status}, subresource="status")
    node = (await list_nodes(client))[unique]
    assert (node.ready, node.reason) == (False, "KubeletNotReady: no network yet")
    assert (node.kubelet, node.os, node.runtime) == ("v1.36.3", "Talos (v1.13.9)", "containerd://2.2.7")
    assert node.roles == ("control-plane",)
    assert node.labels["zone"] == "a"
    assert Taint("node-role.kubernetes.io/control-plane", "NoSchedule") in node.taints
    assert node.addresses == (("InternalIP", "10.5.0.2"), ("Hostname", unique))


async def test_labels_and_taints_are_changed_one_by_one(client: KubeClient, unique: str) -> None:
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique, "labels": {"a": "1", "b": "2"}}}
    )
    changed = await set_labels(client, unique, {"a": None, "c": "3"})
    assert dict(changed.labels) == {"b": "2", "c": "3"}
    before = (await list_nodes(client))[unique].taints  # the server taints a new node itself
    soft, hard = Taint("example.org/leaving", "PreferNoSchedule", "soon"), Taint("example.org/leaving", "NoSchedule")
    for taint in (soft, hard, Taint(soft.key, soft.effect, "now")):
        await add_taint(client, unique, taint)
    assert set((await list_nodes(client))[unique].taints) == {*before, hard, Taint(soft.key, soft.effect, "now")}
    await remove_taint(client, unique, soft)
    await remove_taint(client, unique, soft)
    assert set((await list_nodes(client))[unique].taints) == {*before, hard}
    assert await delete_node(client, unique)
    assert not await delete_node(client, unique)
    assert await find_node(client, unique) is None


@asynccontextmanager
async def kubelet(server: ApiServer, node: str) -> AsyncIterator[KubeClient]:
    """A client that the server takes for this node's kubelet."""
    credentials = Credentials.from_bundle(server.bundle, user=f"system:node:{node}", groups=("system:nodes",))
    async with KubeClient([server.address], credentials, limits=PATIENT) as client:
        yield client


async def is_approved(client: KubeClient, name: str) -> bool:
    return condition(await client.get(Ref(*CSR, name)), "Approved") is not None


async def test_only_expected_certificates_are_approved(
    client: KubeClient, kube_apiserver: ApiServer, unique: str
) -> None:
    good, stranger = f"{unique}-w1", f"{unique}-x"
    ours = [ExpectedNode(good, frozenset({"10.5.0.4", "fd00::4"}), frozenset({f"{good}.example.org"}))]
    user = f"system:node:{good}"
    asked = {
        "ok": certificate_request(user, [good, f"{good}.example.org"], ["10.5.0.4", "fd00::4"]),
        "address": certificate_request(user, [good], ["10.5.0.4", "10.5.0.1"]),
        "name": certificate_request(user, ["kubernetes"], ["10.5.0.4"]),
    }
    async with kubelet(kube_apiserver, good) as node:
        for name, content in asked.items():
            await node.create(serving_request(f"{unique}-{name}", content))
    honest = certificate_request(f"system:node:{stranger}", [stranger], ["10.5.0.9"])
    posing = certificate_request(user, [good], ["10.5.0.4"])
    async with kubelet(kube_apiserver, stranger) as node:
        await node.create(serving_request(f"{unique}-stranger", honest))
        await node.create(serving_request(f"{unique}-posing", posing))
    await client.create(serving_request(f"{unique}-admin", posing))

    judged = {one.request: one.refused for one in await approve_serving_certificates(client, ours)}
    own = {name.removeprefix(f"{unique}-"): refused for name, refused in judged.items() if name.startswith(unique)}
    assert own == {
        "ok": "",
        "address": f"10.5.0.1 is not a name or address of {good}",
        "name": f"kubernetes is not a name or address of {good}",
        "stranger": f"{stranger} is no node of ours",
        "posing": f"{stranger} is no node of ours",
        "admin": "requested by admin, which is not a node",
    }
    assert {name: await is_approved(client, f"{unique}-{name}") for name in own} == {
        name: name == "ok" for name in own
    }
    again = [one.request for one in await approve_serving_certificates(client, ours)]
    assert f"{unique}-ok" not in again


async def test_a_node_that_poses_as_another_of_ours(
    client: KubeClient, kube_apiserver: ApiServer, unique: str
) -> None:
    first, second = f"{unique}-w1", f"{unique}-w2"
    ours = [ExpectedNode(first, frozenset({"10.5.0.4"})), ExpectedNode(second, frozenset({"10.5.0.5"}))]
    async with kubelet(kube_apiserver, first) as node:
        await node.create(
            serving_request(unique, certificate_request(f"system:node:{second}", [second], ["10.5.0.5"]))
        )
    judged = {one.request: one.refused for one in await approve_serving_certificates(client, ours)}
    assert judged[unique] == f"system:node:{first} requests a certificate for system:node:{second}"
    assert not await is_approved(client, unique)
