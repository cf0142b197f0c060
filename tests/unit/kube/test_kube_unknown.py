"""What is not known is not taken for good: servers that do not tell, and those that come up late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from talosmith.desired.pki import CertificateAndKey
from talosmith.kube import Credentials, KubeClient, NotInTime, Progress, Ref, drain, exists, nodes_ready, wait
from tests.clock import Clock
from tests.loopback import unused_port
from tests.unit.kube.kube_server import QUICK, Asked, Reply, serve, status

Connect = Callable[..., KubeClient]
DOWN = status(503, "ServiceUnavailable", "etcd has no leader")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w-1", "resourceVersion": "1"}}
IMPATIENT = replace(QUICK, attempts=2)
LONG = 600.0


async def test_a_node_whose_pods_are_not_known_is_not_drained(authority: CertificateAndKey, connect: Connect) -> None:
    clock = Clock()
    looks = 0

    def answer(asked: Asked) -> Reply:
        nonlocal looks
        if asked.method == "PATCH" or asked.path.endswith("/nodes/w-1"):  # it is cordoned
            return Reply(200, NODE)
        looks += 1
        if looks == 2 * IMPATIENT.attempts + 1:  # asked again and again, and the time is over
            clock.forward(LONG)
        return DOWN

    async with serve(authority, answer) as server, connect(server, limits=IMPATIENT) as client:
        with pytest.raises(NotInTime, match="did not tell which pods"):
            await drain(client, "w-1", timeout=LONG, between=0.1)
    assert server.count("GET") == looks + 1 > 2 * IMPATIENT.attempts


async def test_waiting_goes_on_while_nobody_answers(authority: CertificateAndKey) -> None:
    clock = Clock()
    told: list[Progress] = []

    def report(progress: Progress) -> None:
        told.append(progress)
        clock.forward(LONG)

    credentials = Credentials(authority.certificate, server_name="kubernetes")
    with unused_port() as port:
        address = f"127.0.0.1:{port}"
        async with KubeClient([address], credentials, limits=IMPATIENT) as client:
            with pytest.raises(NotInTime, match=r"no control plane.s Kubernetes API answers"):
                await wait(client, nodes_ready(["w-1"]), timeout=LONG, report=report)
    assert address in told[0].reason


async def test_waiting_goes_on_when_the_server_comes_back(authority: CertificateAndKey, connect: Connect) -> None:
    listed = {"metadata": {"resourceVersion": "1"}, "items": [NODE]}
    replies = iter([DOWN] * QUICK.attempts + [Reply(200, listed)])
    told: list[Progress] = []
    async with serve(authority, lambda asked: next(replies)) as server, connect(server) as client:
        await wait(client, [exists(Ref("v1", "Node", "w-1"))], timeout=LONG, report=told.append)
    assert [progress.ok for progress in told] == [False, True]
    assert "etcd has no leader" in told[0].reason


async def test_no_answer_is_no_sign_of_health(authority: CertificateAndKey, connect: Connect) -> None:
    good = Reply(200, {"metadata": {"resourceVersion": "1"}, "items": [NODE]})
    replies = iter([good, good, *[DOWN] * QUICK.attempts, good, good, good])
    told: list[Progress] = []
    async with serve(authority, lambda asked: next(replies)) as server, connect(server) as client:
        await wait(
            client, [exists(Ref("v1", "Node", "w-1"))], timeout=LONG, report=told.append, in_a_row=3, between=0.05
        )
    assert [progress.ok for progress in told] == [True, False, True]
    assert next(replies, None) is None


async def test_a_lost_watch_does_not_hide_the_reason(authority: CertificateAndKey, connect: Connect) -> None:
    clock = Clock()
    watches, shorter = 0, 60.0  # than a watch may be silent
    unready = {**NODE, "status": {"conditions": [{"type": "Ready", "status": "False", "message": "no network yet"}]}}

    def answer(asked: Asked) -> Reply:
        nonlocal watches
        if "watch" in asked.query:
            watches += 1
            if watches == 3:
                clock.forward(shorter)
            return Reply(cut=True)
        return Reply(200, {"metadata": {"resourceVersion": "1"}, "items": [unready]})

    async with serve(authority, answer) as server, connect(server) as client:
        with pytest.raises(NotInTime, match=r"no network yet; then .*connection was lost"):
            await wait(client, nodes_ready(["w-1"]), timeout=shorter)
