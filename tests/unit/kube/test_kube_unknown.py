"""What is not known is not taken for good: servers that do not tell, and those that come up late."""

from __future__ import annotations

import socket
from collections.abc import Callable

import anyio
import pytest

from talosmith.desired.pki import CertificateAndKey
from talosmith.kube import Credentials, KubeClient, Limits, NotInTime, Progress, Ref, drain, exists, nodes_ready, wait
from tests.unit.kube.kube_server import QUICK, Asked, Reply, serve, status

pytestmark = pytest.mark.anyio

Connect = Callable[..., KubeClient]
DOWN = status(503, "ServiceUnavailable", "etcd has no leader")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w-1", "resourceVersion": "1"}}
IMPATIENT = Limits(attempts=2, first_pause=0.02)


@pytest.mark.slow
async def test_a_node_whose_pods_are_not_known_is_not_drained(authority: CertificateAndKey, connect: Connect) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(200, NODE) if asked.method == "PATCH" else DOWN

    async with serve(authority, answer) as server, connect(server, limits=IMPATIENT) as client:
        with pytest.raises(NotInTime, match="did not tell which pods"):
            await drain(client, "w-1", timeout=1.5, between=0.1)
    assert server.count("GET") > 2


async def test_waiting_goes_on_while_nobody_answers(authority: CertificateAndKey) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    told: list[Progress] = []
    credentials = Credentials(authority.certificate, server_name="kubernetes")
    async with KubeClient([address], credentials, limits=IMPATIENT) as client:
        with pytest.raises(NotInTime, match="no connection to a control plane"):
            await wait(client, nodes_ready(["w-1"]), timeout=1.0, report=told.append)
    assert address in told[0].reason


async def test_waiting_goes_on_when_the_server_comes_back(authority: CertificateAndKey, connect: Connect) -> None:
    listed = {"metadata": {"resourceVersion": "1"}, "items": [NODE]}
    replies = iter([DOWN] * QUICK.attempts + [Reply(200, listed)])
    told: list[Progress] = []
    async with serve(authority, lambda asked: next(replies)) as server, connect(server) as client:
        with anyio.fail_after(20):
            await wait(client, [exists(Ref("v1", "Node", "w-1"))], timeout=15, report=told.append)
    assert [progress.ok for progress in told] == [False, True]
    assert "etcd has no leader" in told[0].reason


async def test_no_answer_is_no_sign_of_health(authority: CertificateAndKey, connect: Connect) -> None:
    good = Reply(200, {"metadata": {"resourceVersion": "1"}, "items": [NODE]})
    replies = iter([good, good, *[DOWN] * QUICK.attempts, good, good, good])
    told: list[Progress] = []
    async with serve(authority, lambda asked: next(replies)) as server, connect(server) as client:
        await wait(
            client, [exists(Ref("v1", "Node", "w-1"))], timeout=15, report=told.append, in_a_row=3, between=0.05
        )
    assert [progress.ok for progress in told] == [True, False, True]
    assert next(replies, None) is None


@pytest.mark.slow
async def test_a_lost_watch_does_not_hide_the_reason(authority: CertificateAndKey, connect: Connect) -> None:
    unready = {**NODE, "status": {"conditions": [{"type": "Ready", "status": "False", "message": "no network yet"}]}}

    def answer(asked: Asked) -> Reply:
        if "watch" in asked.query:
            return Reply(cut=True)
        return Reply(200, {"metadata": {"resourceVersion": "1"}, "items": [unready]})

    async with serve(authority, answer) as server, connect(server) as client:
        with pytest.raises(NotInTime, match=r"no network yet; then .*connection was lost"):
            await wait(client, nodes_ready(["w-1"]), timeout=1.5)
