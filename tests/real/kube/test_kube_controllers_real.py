"""With real controllers: a Deployment that moves off a drained node as its budget allows, and a signed certificate.

The test binds pods to nodes and reports them running, which a scheduler and kubelets would do.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from cryptography import x509

from talosmith.kube import (
    Credentials,
    Event,
    ExpectedNode,
    KubeClient,
    Object,
    Progress,
    Ref,
    apply,
    approve_serving_certificates,
    cordon,
    drain,
    find_node,
    follow,
    ready,
    simulate_drain,
    uncordon,
    wait,
)
from talosmith.kube.objects import metadata, spec, status, uid
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE, PATIENT, not_drained
from tests.real.kube.signing import certificate_request, serving_request

MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: x}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""


@pytest.fixture
async def client(kube_controllers: ApiServer) -> AsyncIterator[KubeClient]:
    async with KubeClient.from_bundle(kube_controllers.bundle, [kube_controllers.address], limits=PATIENT) as one:
        yield one


def is_healthy(pod: Object) -> bool:
    return status(pod).get("phase") == "Running" and not metadata(pod).get("deletionTimestamp")


@asynccontextmanager
async def running(client: KubeClient, namespace: str, nodes: list[str]) -> AsyncIterator[list[int]]:
    """Pods go to the first node that takes some, run there, and end when they are told to.

    Yields how many were healthy, from one change to the next.
    """
    healthy: list[int] = []

    async def care(pod: Ref, item: Object) -> None:
        if metadata(item).get("deletionTimestamp"):
            await client.delete(pod, uid=uid(item), grace=0)
        elif not spec(item).get("nodeName"):
            for node in nodes:
                found = await find_node(client, node)
                if found is not None and not found.cordoned_by:
                    target = {"apiVersion": "v1", "kind": "Node", "name": node}
                    meta = {"name": pod.name, "namespace": namespace}
                    body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
                    path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}/binding"
                    await client.caller.ask("POST", path, body=body)
                    break
        elif status(item).get("phase") != "Running":
            conditions = [{"type": "Ready", "status": "True"}]
            change = {"status": {"phase": "Running", "conditions": conditions}}
            await client.patch(pod, change, subresource="status")

    async def run() -> None:
        known: dict[str, Object] = {}
        async for change in follow(client, "v1", "Pod", namespace):
            if not isinstance(change, Event):
                known.clear()
            for item in [change.item] if isinstance(change, Event) else change.items:
                known[metadata(item)["name"]] = item
                if isinstance(change, Event) and change.kind == "DELETED":
                    del known[metadata(item)["name"]]
                    continue
                healthy.append(sum(map(is_healthy, known.values())))
                await care(Ref("v1", "Pod", metadata(item)["name"], namespace), item)

    async with asyncio.TaskGroup() as group:
        caring = group.create_task(run())
        yield healthy
        caring.cancel()


async def test_a_deployment_moves_as_its_budget_allows(client: KubeClient, namespace: str, unique: str) -> None:
    first, second = f"{unique}-1", f"{unique}-2"
    for node in (first, second):
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    deployment = Ref("apps/v1", "Deployment", "web", namespace)
    told: list[Progress] = []
    async with running(client, namespace, [first, second]) as healthy:
        await apply(client, MANIFESTS, namespace=namespace, name=unique)
        await wait(client, [ready(deployment)], timeout=PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while not (await simulate_drain(client, first)).in_turn:  # the controller has yet to count the pods
                await asyncio.sleep(0.1)
        assert (await simulate_drain(client, first)).passes
        drained = await drain(client, first, timeout=PATIENCE, between=0.3, report=told.append)
        await wait(client, [ready(deployment)], timeout=PATIENCE)
        assert len(drained.evicted) == 2
        assert [progress.reason for progress in told if progress.ok] == ["gone", "gone"]
        assert min(healthy[healthy.index(2) :]) == 1
        assert await uncordon(client, first)
        # Nowhere else to go: one may leave, then the budget holds the other.
        await cordon(client, first)
        async with asyncio.timeout(PATIENCE):
            while len((await simulate_drain(client, second)).evicted) < 2:
                await asyncio.sleep(0.1)
        wrong = await not_drained(client, second, enough=lambda wrong: len(wrong.blocked) == 1)
        assert "allows 0 disruptions now" in str(wrong)
        left = (await client.list("v1", "Pod", namespace)).items
        assert [spec(pod).get("nodeName") for pod in left].count(second) == 1


async def test_an_approved_request_is_signed(client: KubeClient, kube_controllers: ApiServer, unique: str) -> None:
    user = f"system:node:{unique}"
    credentials = Credentials.from_bundle(kube_controllers.bundle, user=user, groups=("system:nodes",))
    async with KubeClient([kube_controllers.address], credentials, limits=PATIENT) as kubelet:
        await kubelet.create(serving_request(unique, certificate_request(user, [unique], ["10.5.0.4"])))
    judged = await approve_serving_certificates(client, [ExpectedNode(unique, frozenset({"10.5.0.4"}))])
    assert [(one.request, one.refused) for one in judged if one.request == unique] == [(unique, "")]
    request = Ref("certificates.k8s.io/v1", "CertificateSigningRequest", unique)
    async with asyncio.timeout(PATIENCE):
        while not (issued := status(await client.get(request)).get("certificate")):
            await asyncio.sleep(0.1)
    certificate = x509.load_pem_x509_certificate(base64.b64decode(issued))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [unique]
