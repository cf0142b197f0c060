"""How the kinds of a server become known: all at once where many are needed, each group where the server is old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talosmith.desired.pki import CertificateAndKey
from talosmith.kube import KubeClient
from tests.unit.kube.kube_server import Asked, Reply, serve, status

Connect = Callable[..., KubeClient]
NEEDED = ("apps/v1", "batch/v1", "metrics.k8s.io/v1beta1", "example.org/v1")


def kind(name: str, plural: str, scope: str = "Namespaced") -> dict[str, Any]:
    return {"resource": plural, "scope": scope, "responseKind": {"group": "", "version": "", "kind": name}}


def group(name: str, version: str, *kinds: dict[str, Any], freshness: str = "Current") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "versions": [{"version": version, "resources": [*kinds], "freshness": freshness}],
    }


def every_kind(asked: Asked) -> Reply:
    """As a server since Kubernetes 1.26 answers."""
    if "as=APIGroupDiscoveryList" not in asked.headers["accept"]:
        return of_one_group(asked)
    core = {"metadata": {}, "versions": [{"version": "v1", "resources": [kind("Node", "nodes", "Cluster")]}]}
    groups = [
        group("apps", "v1", kind("Deployment", "deployments")),
        group("batch", "v1", kind("Job", "jobs")),
        group("metrics.k8s.io", "v1beta1", freshness="Stale"),
    ]
    return Reply(200, {"kind": "APIGroupDiscoveryList", "items": [core] if asked.path == "/api" else groups})


def of_one_group(asked: Asked) -> Reply:
    if asked.path in ("/api", "/apis"):
        return Reply(200, {"kind": "APIGroupList", "groups": []})
    kinds = {"/apis/apps/v1": "Deployment", "/apis/batch/v1": "Job", "/apis/metrics.k8s.io/v1beta1": "PodMetrics"}
    if asked.path not in kinds:
        return status(404, "NotFound")
    name = kinds[asked.path]
    return Reply(200, {"resources": [{"name": f"{name.lower()}s", "kind": name, "namespaced": True}]})


async def known(client: KubeClient) -> list[bool]:
    kinds = zip(NEEDED, ("Deployment", "Job", "PodMetrics", "Thing"), strict=True)
    return [await client.serves(api_version, name) for api_version, name in kinds]


async def test_many_kinds_take_two_questions(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, every_kind) as server, connect(server) as client:
        await client.discover(NEEDED)
        assert [one.path for one in server.asked] == ["/api", "/apis"]
        node, deployment = await client.resource("v1", "Node"), await client.resource("apps/v1", "Deployment")
        assert (node.path("", "n"), deployment.path("a", "d")) == (
            "/api/v1/nodes/n",
            "/apis/apps/v1/namespaces/a/deployments/d",
        )
        assert len(server.asked) == 2


async def test_kinds_that_are_not_among_them_are_asked_for(authority: CertificateAndKey, connect: Connect) -> None:
    """An extension API server that does not answer now, and what is served later."""
    async with serve(authority, every_kind) as server, connect(server) as client:
        await client.discover(NEEDED)
        assert await known(client) == [True, True, True, False]
        assert [one.path for one in server.asked][2:] == ["/apis/metrics.k8s.io/v1beta1", "/apis/example.org/v1"]


async def test_an_old_server_is_asked_for_each_group(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, of_one_group) as server, connect(server) as client:
        await client.discover(NEEDED)
        assert await known(client) == [True, True, True, False]


async def test_few_kinds_are_asked_for_when_they_are_needed(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, every_kind) as server, connect(server) as client:
        await client.discover(["apps/v1", "batch/v1", "apps/v1"])
        assert not server.asked
