"""What takes long is told: from threads to the loop, now and then, and to nobody afterwards."""

from __future__ import annotations

import contextvars
import threading

import anyio
import pytest
from anyio import to_thread

from talosmith.providers import telling
from talosmith.providers.telling import counting, heard_by, tell

MIB = b"\0" * 1024 * 1024


@pytest.mark.anyio
async def test_a_thread_is_heard_in_the_loop() -> None:
    heard: list[tuple[str, int]] = []
    with heard_by(lambda text: heard.append((text, threading.get_ident()))):
        await to_thread.run_sync(tell, "fetching")
        await anyio.sleep(0)
    assert heard == [("fetching", threading.get_ident())]


@pytest.mark.anyio
async def test_two_tasks_are_heard_each_by_its_own() -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    async def work(name: str) -> None:
        with heard_by(heard[name].append):
            await to_thread.run_sync(tell, name)
            await anyio.sleep(0)

    async with anyio.create_task_group() as group:
        for name in heard:
            group.start_soon(work, name)
    assert heard == {"a": ["a"], "b": ["b"]}


@pytest.mark.anyio
async def test_who_is_done_hears_no_more() -> None:
    heard: list[str] = []
    with heard_by(heard.append):
        late = contextvars.copy_context()
    late.run(tell, "too late")
    await anyio.sleep(0)
    tell("to nobody")
    assert heard == []


@pytest.mark.anyio
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
    monkeypatch.setattr(telling, "_EVERY", every)
    heard: list[str] = []
    with heard_by(heard.append):
        assert b"".join(counting([MIB] * 3, "copying", total)) == MIB * 3
        await anyio.sleep(0)
    assert heard == told
