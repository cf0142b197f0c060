"""What takes long is told: from threads to the loop, now and then, and to nobody afterwards."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from functools import partial

import pytest

from talosmith.providers import progress
from talosmith.providers.progress import counting, report_progress, reporting_to
from talosmith.tasks import in_thread

MIB = b"\0" * 1024 * 1024


async def test_a_thread_is_heard_in_the_loop() -> None:
    heard: list[tuple[str, int]] = []
    with reporting_to(lambda text: heard.append((text, threading.get_ident()))):
        await in_thread(partial(report_progress, "fetching"))
        await asyncio.sleep(0)
    assert heard == [("fetching", threading.get_ident())]


async def test_two_tasks_are_heard_each_by_its_own() -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    async def work(name: str) -> None:
        with reporting_to(heard[name].append):
            await in_thread(partial(report_progress, name))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for name in heard:
            group.create_task(work(name))
    assert heard == {"a": ["a"], "b": ["b"]}


async def test_who_is_done_hears_no_more() -> None:
    heard: list[str] = []
    with reporting_to(heard.append):
        late = contextvars.copy_context()
    late.run(report_progress, "too late")
    await asyncio.sleep(0)
    report_progress("to nobody")
    assert heard == []


@pytest.mark.parametrize(
    ("every", "total", "told"),
    [
        (0.0, 3 * len(MIB), ["copying", "copying: 1 of 3 MiB", "copying: 2 of 3 MiB", "copying: 3 of 3 MiB"]),
        (0.0, 0, ["copying", "copying: 1 MiB", "copying: 2 MiB", "copying: 3 MiB"]),
        (60.0, 0, ["copying"]),
    ],
    ids=["of", "unknown", "seldom"],
)
async def test_bytes_are_counted(monkeypatch: pytest.MonkeyPatch, every: float, total: int, told: list[str]) -> None:
    monkeypatch.setattr(progress, "_EVERY", every)
    heard: list[str] = []
    with reporting_to(heard.append):
        assert b"".join(counting([MIB] * 3, "copying", total)) == MIB * 3
        await asyncio.sleep(0)
    assert heard == told
