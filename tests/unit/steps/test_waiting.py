"""Waiting: told about, ended by what is found, or by somebody who wants the run to stop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.steps.waiting import StoppedWaiting, until

pytestmark = pytest.mark.anyio


def silent(text: str, hint: str = "") -> None:
    """For who does not want to know."""


class World:
    """Answers one after the other; errors are raised."""

    def __init__(self, *answers: object) -> None:
        self._answers: Iterator[object] = iter(answers)
        self.looks = 0

    async def look(self) -> object | None:
        self.looks += 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_what_is_found_ends_it_and_reasons_are_told() -> None:
    told: list[tuple[str, str]] = []

    def report(text: str, hint: str = "") -> None:
        told.append((text, hint))

    world = World(None, Temporary("nobody answers", hint="switch it on"), None, "found")
    assert await until(world.look, report, "waiting for it") == "found"
    assert told == [("waiting for it: nobody answers", "switch it on")]


async def test_what_is_hopeless_is_not_waited_for() -> None:
    with pytest.raises(Permanent, match="never"):
        await until(World(None, Permanent("never")).look, silent, "waiting")


async def test_a_run_that_is_to_stop_does_not_sit_it_out() -> None:
    world = World(None, None, None, None)
    with pytest.raises(StoppedWaiting, match="stopped while waiting for it"):
        await until(world.look, silent, "waiting for it", stop=lambda: world.looks == 2)
    assert world.looks == 2
