"""How calls end: tried again where that helps and is harmless, bounded in time and size, with errors that say it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.desired.validity import clock
from talosmith.errors import Permanent, Temporary
from talosmith.kube import (
    ApiHealth,
    ClockMismatch,
    Credentials,
    Event,
    KubeClient,
    KubeError,
    NotKubernetes,
    NotReady,
    NotTrusted,
    Ref,
    Refused,
    Snapshot,
    TooLarge,
    TooSlow,
    Unreachable,
    api_health,
    caller,
    follow,
)
from talosmith.model.secret import Secret
from tests.clock import Clock
from tests.loopback import unused_port
from tests.unit.kube.kube_server import QUICK, TOKEN, Asked, Reply, Server, serve, status

Connect = Callable[..., KubeClient]
ONE = Ref("v1", "ConfigMap", "one", "default")
ITEM = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "5"}}
BUSY = status(429, "TooManyRequests", "slow down")
DOWN = status(503, "ServiceUnavailable", "etcd has no leader")


def in_turn(*replies: Reply) -> Callable[[Asked], Reply]:
    left = iter(replies)
    return lambda asked: next(left)


async def test_a_busy_server_is_asked_again_when_it_says(authority: CertificateAndKey, connect: Connect) -> None:
    busy = Reply(429, BUSY.body, {"Retry-After": "1"})
    async with serve(authority, in_turn(busy, Reply(200, ITEM))) as server, connect(server) as client:
        start = time.monotonic()
        assert (await client.get(ONE))["metadata"]["name"] == "one"
        assert time.monotonic() - start >= 1.0
    assert server.count("GET") == 2


async def test_a_server_without_etcd_is_left_for_another(authority: CertificateAndKey, connect: Connect) -> None:
    async with (
        serve(authority, lambda asked: DOWN) as bad,
        serve(authority, lambda asked: Reply(200, ITEM)) as good,
        connect(bad, good) as client,
    ):
        await client.get(ONE)
        await client.get(ONE)
        assert client.server == good.address
    assert (len(bad.asked), len(good.asked)) == (1, 2)


async def test_attempts_are_bounded(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, lambda asked: DOWN) as server, connect(server) as client:
        with pytest.raises(NotReady, match="etcd has no leader") as caught:
            await client.get(ONE)
    assert len(server.asked) == 4
    assert server.address in str(caught.value)
    assert str(ONE) in str(caught.value)
    assert isinstance(caught.value, Temporary)


@pytest.mark.parametrize(
    ("reply", "asked"), [(Reply(cut=True), 1), (DOWN, 1), (status(500, "InternalError", "etcd"), 1), (BUSY, 4)]
)
async def test_creating_is_asked_twice_only_if_it_had_no_effect(
    authority: CertificateAndKey, connect: Connect, reply: Reply, asked: int
) -> None:
    quick = Reply(reply.status, reply.body, {"Retry-After": "0"}, cut=reply.cut)
    async with serve(authority, lambda _: quick) as server, connect(server) as client:
        with pytest.raises(KubeError) as caught:
            await client.create(ITEM)
    assert isinstance(caught.value, Temporary)
    assert server.count("POST") == asked


async def test_applying_is_asked_again_after_a_lost_connection(
    authority: CertificateAndKey, connect: Connect
) -> None:
    async with serve(authority, in_turn(Reply(cut=True), Reply(201, ITEM))) as server, connect(server) as client:
        assert (await client.apply(ITEM)).created
    assert [one.query["fieldManager"] for one in server.asked] == ["talosmith"] * 2


async def test_a_server_that_does_not_answer(
    authority: CertificateAndKey, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(caller, "time", SimpleNamespace(monotonic=clock.time))
    limits = replace(QUICK, total=QUICK.call_timeout * 5, attempts=100)

    def hang(asked: Asked) -> Reply:
        clock.forward(QUICK.call_timeout + 1)
        return Reply(hang=True)

    async with serve(authority, hang) as server, connect(server, limits=limits) as client:
        start = clock.time()
        with pytest.raises(TooSlow):
            await client.get(ONE)
        assert clock.time() - start < limits.total + 120  # and what it really took
    assert 2 <= len(server.asked) <= 6


async def test_permanent_refusals_are_not_repeated(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, lambda asked: status(422, "Invalid", "no")) as server, connect(server) as client:
        with pytest.raises(KubeError) as caught:
            await client.apply(ITEM)
    assert isinstance(caught.value, Permanent)
    assert len(server.asked) == 1


async def test_something_else_answers(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, lambda asked: Reply(200, b"<html>")) as server, connect(server) as client:
        with pytest.raises(NotKubernetes):
            await client.get(ONE)


async def test_answers_are_bounded(authority: CertificateAndKey, connect: Connect) -> None:
    big = {**ITEM, "data": {"x": "y" * 10_000}}
    small = replace(QUICK, max_answer=5_000)
    async with serve(authority, lambda asked: Reply(200, big)) as server, connect(server, limits=small) as client:
        with pytest.raises(TooLarge):
            await client.get(ONE)


async def test_the_token_is_sent_but_never_shown(authority: CertificateAndKey, connect: Connect) -> None:
    async with serve(authority, lambda asked: Reply(cut=True)) as server, connect(server) as client:
        with pytest.raises(Unreachable) as caught:
            await client.get(ONE)
        shown = f"{caught.value!r} {caught.value} {caught.value.__dict__} {client!r} {client.__dict__}"
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in shown


def changed(version: str) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": {**ITEM, "metadata": {"name": "one", "resourceVersion": version}}}


def watched(*watches: Reply) -> Callable[[Asked], Reply]:
    """Lists are always answered, watches by these in turn."""
    left: Iterator[Reply] = iter(watches)
    listed = {"kind": "ConfigMapList", "metadata": {"resourceVersion": "10"}, "items": [ITEM]}
    return lambda asked: next(left) if "watch" in asked.query else Reply(200, listed)


async def follow_all(client: KubeClient, count: int) -> list[str]:
    seen = []
    changes = follow(client, "v1", "ConfigMap", "default")
    async for change in changes:
        seen.append("all" if isinstance(change, Snapshot) else change.item["metadata"]["resourceVersion"])
        assert isinstance(change, Snapshot | Event)
        if len(seen) == count:
            break
    await changes.aclose()
    return seen


async def test_a_watch_that_is_cut_goes_on_where_it_was(authority: CertificateAndKey, connect: Connect) -> None:
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "20"}}}
    answer = watched(
        Reply(lines=(changed("11"), '{"type": "MODI')),
        Reply(cut=True),
        DOWN,
        Reply(lines=(bookmark,)),
        Reply(lines=(changed("21"),)),
    )
    async with serve(authority, answer) as server, connect(server) as client:
        assert await follow_all(client, 3) == ["all", "11", "21"]
    watches = [one.query["resourceVersion"] for one in server.asked if "watch" in one.query]
    assert watches == ["10", "11", "11", "11", "20"]


async def test_a_server_that_has_forgotten_is_read_anew(authority: CertificateAndKey, connect: Connect) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    answer = watched(
        Reply(lines=(changed("11"), {"type": "ERROR", "object": gone})),
        status(410, "Expired"),
        Reply(lines=(changed("12"),)),
    )
    async with serve(authority, answer) as server, connect(server) as client:
        assert await follow_all(client, 5) == ["all", "11", "all", "all", "12"]


async def test_a_list_that_took_too_long_starts_over(authority: CertificateAndKey, connect: Connect) -> None:
    first = Reply(200, {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": [ITEM]})
    last = Reply(200, {"metadata": {"resourceVersion": "2"}, "items": [ITEM, ITEM]})
    async with serve(authority, in_turn(first, status(410, "Expired"), last)) as server, connect(server) as client:
        listed = await client.list("v1", "ConfigMap")
    assert (len(listed.items), listed.version) == (2, "2")


async def test_a_watch_goes_to_another_server_when_one_fails(authority: CertificateAndKey, connect: Connect) -> None:
    async with (
        serve(authority, watched(Reply(lines=(changed("11"),)), *[DOWN] * 20)) as first,
        serve(authority, watched(Reply(lines=(changed("12"),)))) as second,
        connect(first, second) as client,
    ):
        assert await follow_all(client, 3) == ["all", "11", "12"]
    assert [one.query.get("resourceVersion") for one in second.asked] == ["11"]


@pytest.mark.parametrize(("days", "state"), [(-1, "has expired"), (1, "is not yet valid")])
async def test_an_expired_certificate_may_yet_be_renewed(
    days: int, state: str, authority: CertificateAndKey, connect: Connect
) -> None:
    """Or clocks are set right: both are in the message."""
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    async with serve(authority, lambda asked: Reply(200, ITEM), now=start) as server, connect(server) as client:
        with pytest.raises(ClockMismatch) as caught:
            await client.get(ONE)
    said = f"{server.address}: certificate {state}: valid from {clock(start)} to {clock(start + timedelta(hours=1))}"
    assert f"{said}, this computer's clock says 2" in str(caught.value)
    assert "(x509: certificate has expired or is not yet valid)" in str(caught.value)
    assert "timedatectl" in caught.value.hint
    assert server.asked == []


async def test_a_certificate_out_of_time_is_named_beside_a_server_that_is_down(
    authority: CertificateAndKey, connect: Connect
) -> None:
    start = datetime.now(UTC) + timedelta(days=1)
    with unused_port() as port:
        down = Server(f"127.0.0.1:{port}", [])
        late = serve(authority, lambda asked: Reply(200, ITEM), now=start)
        async with late as server, connect(down, server) as client:
            with pytest.raises(Unreachable, match="certificate is not yet valid: valid from") as caught:
                await client.get(ONE)
    assert "timedatectl" in caught.value.hint


async def test_an_authority_that_is_out_of_time_is_named() -> None:
    future = pki.new_authority("kubernetes", KeyKind.ECDSA_P256, now=datetime.now(UTC) + timedelta(days=9))
    credentials = Credentials(future.certificate, token=Secret(TOKEN), server_name="kubernetes")
    with pytest.raises(ClockMismatch, match="CA certificate of Kubernetes is not yet valid: valid from 2"):
        async with (
            serve(future, lambda asked: Reply(200, ITEM)) as server,
            KubeClient([server.address], credentials, limits=QUICK) as client,
        ):
            await client.get(ONE)


@pytest.mark.parametrize(("hours", "clocks"), [(3, True), (-3, True), (0, False)])
async def test_who_is_refused_by_a_server_with_another_clock_is_told_both(
    hours: int, clocks: bool, authority: CertificateAndKey, connect: Connect
) -> None:
    theirs = datetime.now(UTC) + timedelta(hours=hours)
    refusal = status(401, "Unauthorized", "Unauthorized")
    refusal.headers["Date"] = format_datetime(theirs, usegmt=True)
    async with serve(authority, lambda asked: refusal) as server, connect(server) as client:
        with pytest.raises(Refused) as caught:
            await client.get(ONE)
    said = f"the server's clock says {clock(theirs)}, this computer's clock says 2"
    assert (said in str(caught.value)) == ("timedatectl" in caught.value.hint) == clocks


async def test_checks_that_fail_are_named(authority: CertificateAndKey, connect: Connect) -> None:
    fine = [f"[+]poststarthook/start-controller-{number} ok" for number in range(60)]
    wrong = ["[-]etcd failed: reason withheld", "[-]poststarthook/x failed: reason withheld", "readyz check failed"]
    text = "\n".join(fine + wrong).encode()
    reply = Reply(500, text, {"Content-Type": "text/plain"})
    async with serve(authority, lambda asked: reply) as server, connect(server) as client:
        assert await api_health(client) == ApiHealth(server.address, False, ("etcd", "poststarthook/x"))
    assert len(server.asked) == 1


async def test_an_answer_that_leads_elsewhere(authority: CertificateAndKey, connect: Connect) -> None:
    away = Reply(302, b"", {"Location": "https://portal.example.org", "Content-Type": "text/html"})
    async with serve(authority, lambda asked: away) as server, connect(server) as client:
        with pytest.raises(NotKubernetes):
            await client.get(ONE)


async def test_a_server_of_another_authority_gets_no_token(authority: CertificateAndKey, connect: Connect) -> None:
    """Whoever steps in between, with an authority of the same name."""
    another = pki.new_authority("kubernetes", pki.KeyKind.ECDSA_P256)
    async with serve(another, lambda asked: Reply(200, ITEM)) as server, connect(server) as client:
        with pytest.raises(NotTrusted):
            await client.get(ONE)
    assert server.asked == []
