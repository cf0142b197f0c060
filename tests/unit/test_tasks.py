"""Groups whose errors are themselves, work that a cancellation does not cut short, threads that are waited for."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.tasks import in_thread, shielded, stop_if_cancelled, task_group, together
from talosmith.waiting import limited


async def fail(error: Exception) -> None:
    raise error


async def test_an_error_of_ours_comes_out_as_itself_and_ends_the_others() -> None:
    ended: list[str] = []

    async def other() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("other")

    with pytest.raises(Temporary, match="busy") as caught:
        async with task_group() as group:
            group.create_task(other())
            group.create_task(fail(Temporary("busy", retry_after=7)))
    assert caught.value.retry_after == 7 and ended == ["other"]


async def test_a_mistake_among_them_is_not_hidden() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with task_group() as group:
            group.create_task(fail(Permanent("no")))
            group.create_task(fail(KeyError("x")))
    assert caught.group_contains(KeyError) and caught.group_contains(Permanent)


async def test_not_all_at_once() -> None:
    now = most = 0
    seen: list[int] = []

    async def do(item: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        seen.append(item)
        now -= 1

    await together(do, range(20), at_once=3)
    assert most == 3 and sorted(seen) == list(range(20))
    with pytest.raises(Permanent, match="no"):
        await together(lambda item: fail(Permanent("no")), range(20))


async def test_what_is_shielded_ends_before_the_cancellation_goes_on() -> None:
    order: list[str] = []

    async def clean_up() -> None:
        await asyncio.sleep(0.05)
        order.append("cleaned")

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await shielded(clean_up())
            order.append("not cancelled in the midst of it")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert order == ["cleaned", "not cancelled in the midst of it"]
    task = asyncio.create_task(shielded(clean_up()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # twice is not enough either
    with pytest.raises(asyncio.CancelledError):
        await task
    assert order[2:] == ["cleaned"]


async def test_what_is_shielded_returns_and_fails_as_it_does() -> None:
    assert await shielded(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(Permanent, match="no"):
        await shielded(fail(Permanent("no")))


async def test_a_thread_is_told_of_the_cancellation_and_waited_for() -> None:
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        try:
            while True:
                stop_if_cancelled()
                time.sleep(0.001)
        finally:
            time.sleep(0.05)
            ended.set()

    async with limited(0.05) as limit:
        await in_thread(work)
    assert limit.over and began.is_set() and ended.is_set()
    stop_if_cancelled()  # says nothing to whoever is no thread of ours


async def test_what_a_thread_returns_and_raises() -> None:
    assert await in_thread(lambda: threading.current_thread() is threading.main_thread()) is False

    def refuse() -> None:
        raise Permanent("no")

    with pytest.raises(Permanent, match="no"):
        await in_thread(refuse)
    ids = set[int]()
    gate = threading.Barrier(12)  # more than asyncio's own threads on a small machine

    def meet() -> None:
        gate.wait(60)
        ids.add(threading.get_ident())

    async with task_group() as group:
        for _ in range(12):
            group.create_task(in_thread(meet))
    assert len(ids) == 12


async def test_a_group_whose_child_fails_leaves_its_caller_uncancelled() -> None:
    """Else a step that fails in a group, and is to be tried again, looks as if the run was to stop."""

    async def fails_late() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise Temporary("later")

    caller = asyncio.current_task()
    assert caller is not None
    with pytest.raises(Temporary):
        async with task_group() as group:
            group.create_task(fails_late())
            group.create_task(asyncio.sleep(60))
    assert caller.cancelling() == 0
