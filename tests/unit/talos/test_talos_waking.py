"""Who is woken because a call has ended: once, with the reason, unless the caller is cancelled as well."""

from __future__ import annotations

import asyncio

import pytest

from talosmith.talos.grpc.waking import Waker


async def wait_in(waker: Waker) -> None:
    with waker:
        await asyncio.sleep(60)


async def test_whoever_waits_gets_the_first_reason_and_no_mark() -> None:
    waker = Waker()
    task = asyncio.create_task(wait_in(waker))
    await asyncio.sleep(0)
    waker.cancel(OSError("first"))
    waker.cancel(OSError("second"))
    with pytest.raises(OSError, match="first"):
        await task
    assert task.cancelling() == 0
    with pytest.raises(OSError, match="first"):
        await wait_in(waker)


async def test_a_caller_who_is_cancelled_at_the_same_time_is_cancelled() -> None:
    waker = Waker()
    task = asyncio.create_task(wait_in(waker))
    await asyncio.sleep(0)
    waker.cancel(OSError("lost"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_limit_ends_the_wait() -> None:
    waker = Waker()
    with pytest.raises(TimeoutError), waker.limit(0.01):
        await wait_in(waker)
    with pytest.raises(TimeoutError), Waker().limit(0.0):
        raise AssertionError("begun")
