"""Actions that only count and wait, and what a run of them has told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.errors import Permanent
from talosmith.events import Event, Events
from talosmith.model.resources import SettingChange
from talosmith.plan.step import Disruption, Plan, Report, Stage, Step, StepKey

Run = Callable[[Report], Awaitable[None]]


async def nothing(report: Report) -> None:
    """Runs in no time."""


@dataclass
class Fake:
    """`world` holds the keys of what is done; running puts the key there, unless it raises."""

    key: StepKey
    world: set[str] = field(default_factory=set)
    body: Run = nothing
    limit: float = 60.0
    subject: str = ""
    makes: tuple[str, ...] = ("fake:Change",)
    disruption: Disruption = "none"
    stage: Stage = ""
    settings: tuple[SettingChange, ...] = ()
    runs: int = 0
    looks: int = 0

    def describe(self) -> str:
        return f"do {self.key}"

    def calls(self) -> tuple[str, ...]:
        return self.makes

    async def done(self, context: Any) -> bool:
        self.looks += 1
        return self.key in self.world

    async def run(self, context: Any, report: Report) -> None:
        self.runs += 1
        await self.body(report)
        self.world.add(self.key)


def plan_of(actions: Sequence[Fake], needs: Mapping[str, Sequence[str]] | None = None) -> Plan[Any]:
    steps = [Step(action=one, reason="wanted", needs=tuple((needs or {}).get(one.key, ()))) for one in actions]
    return Plan(operation="up", cluster="demo", steps=tuple(steps))


async def refuse(report: Report) -> None:
    raise Permanent("the node says no", hint="ask it nicely")


class Heard:
    """A listener that keeps everything."""

    def __init__(self) -> None:
        self.all: list[Event] = []
        self.events = Events(self.all.append)

    def of(self, key: str) -> list[str]:
        return [event.kind for event in self.all if event.step == key]

    def texts(self, kind: str) -> list[str]:
        return [event.text for event in self.all if event.kind == kind]

    def one(self, kind: str, key: str = "") -> Event:
        (event,) = [event for event in self.all if event.kind == kind and event.step == key]
        return event


def start(script: Path, *arguments: str, before: Sequence[str] = (), **options: Any) -> subprocess.Popen[str]:
    """Another process of ours, that runs `script`; its standard output and input are pipes of text."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
    return subprocess.Popen([*before, sys.executable, str(script), *arguments], text=True, **options)


def told(process: subprocess.Popen[str]) -> str:
    """Its next line."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
