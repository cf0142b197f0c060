"""Tasks: workers that go on after the answer, each with a UPID, a log and finally an exit status.

The body of a task is a generator that changes the world, writes to the log and yields the seconds until the next
step. `TaskFailed` is the error of a task; cancelling throws `Interrupted` into the body.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .access import Identity
from .clock import Agenda
from .errors import Refused, lock_timeout
from .pace import Pace

Body = Generator[float, None, None]
LOCK_PATIENCE = 10.0
_FIRST_PID = 1000


class TaskFailed(Exception):
    """The exit status of a task that went wrong."""


class Interrupted(Exception):
    """The task is cancelled. A body that lets this through ends as `interrupted by signal`."""


@dataclass
class Task:
    node: str
    pid: int
    pstart: int
    started: int
    type: str
    id: str
    user: str  # with the name of the token
    log: list[str] = field(default_factory=list)
    ended: int | None = None
    exit: str = ""
    warnings: int = 0
    body: Body | None = None

    @property
    def upid(self) -> str:
        numbers = f"{self.pid:08X}:{self.pstart:08X}:{self.started:08X}"
        return f"UPID:{self.node}:{numbers}:{self.type}:{self.id}:{self.user}:"

    @property
    def running(self) -> bool:
        return self.ended is None

    def say(self, *lines: str) -> None:
        self.log.extend(lines)

    def warn(self, line: str) -> None:
        self.warnings += 1
        self.log.append(f"WARN: {line}")

    def view(self) -> dict[str, Any]:
        user, _, token = self.user.partition("!")
        common = {"upid": self.upid, "node": self.node, "pid": self.pid, "pstart": self.pstart, "type": self.type}
        common |= {"starttime": self.started, "id": self.id, "user": user}
        return common | ({"tokenid": token} if token else {})


class Flocks:
    """The lock files of VMs: who holds which, and whether alone."""

    def __init__(self) -> None:
        self._held: dict[int, list[bool]] = {}

    def busy(self, vmid: int, alone: bool = True) -> bool:
        holders = self._held.get(vmid, [])
        return bool(holders) if alone else any(holders)

    def take(self, vmid: int, alone: bool = True) -> None:
        self._held.setdefault(vmid, []).append(alone)

    def give_back(self, vmid: int, alone: bool = True) -> None:
        if alone in self._held.get(vmid, []):
            self._held[vmid].remove(alone)

    @contextmanager
    def held(self, vmid: int, alone: bool = True) -> Iterator[None]:
        self.take(vmid, alone)
        try:
            yield
        finally:
            self.give_back(vmid, alone)

    def wait(self, task: Task, vmid: int, alone: bool = True) -> Body:
        """Until the lock is free, as a part of a task's body."""
        waited = 0.0
        while self.busy(vmid, alone):
            if not waited:
                task.say("trying to acquire lock...")
            if waited >= LOCK_PATIENCE:
                raise TaskFailed(lock_timeout(vmid))
            yield 0.5
            waited += 0.5
        if waited:
            task.say(" OK")


class Tasks:
    def __init__(self, agenda: Agenda, pace: Pace) -> None:
        self.all: dict[str, Task] = {}
        self.dying: Callable[[Task], str] = lambda task: (
            ""
        )  # a fault: with which status a task dies at its first step
        self._agenda = agenda
        self._pace = pace
        self._pids = _FIRST_PID
        self._booted = agenda.clock.now() - 4600

    def next_pid(self) -> int:
        self._pids += 7
        return self._pids

    def start(self, node: str, kind: str, id_: str, who: Identity | str, body: Callable[[Task], Body]) -> str:
        now = self._agenda.clock.now()
        user = who if isinstance(who, str) else who.id
        task = Task(node, self.next_pid(), int((now - self._booted) * 100), int(now), kind, id_, user)
        self.all[task.upid] = task
        task.body = body(task)
        self._agenda.after(0.0, lambda: self._step(task))
        return task.upid

    def cancel(self, task: Task) -> None:
        if task.body and task.running:
            self._advance(task, lambda body: body.throw(Interrupted()))

    def _step(self, task: Task) -> None:
        if not task.running:
            return
        status = self.dying(task)
        if status:
            self.kill(task, status)
        else:
            self._advance(task, next)

    def kill(self, task: Task, status: str) -> None:
        """The worker dies: neither log nor cleaning up is completed."""
        body, task.body = task.body, None
        self._end(task, status)
        task.log = [] if "last line" in status else task.log[:-1]
        if body:
            body.close()

    def _advance(self, task: Task, step: Callable[[Body], float]) -> None:
        assert task.body
        try:
            seconds = step(task.body)
        except StopIteration:
            self._end(task, f"WARNINGS: {task.warnings}" if task.warnings else "OK")
        except (TaskFailed, Refused) as problem:
            self._end(task, str(problem))
        except Interrupted:
            self._end(task, "interrupted by signal")
        except Exception as problem:  # of the simulator itself
            traceback.print_exc()
            self._end(task, f"the simulator failed: {problem!r}")
        else:
            self._agenda.after(seconds * self._pace.scale, lambda: self._step(task))

    def _end(self, task: Task, status: str) -> None:
        fine = status == "OK" or status.startswith("WARNINGS:")
        task.exit = status
        task.ended = int(self._agenda.clock.now())
        task.log.append(f"TASK {status}" if fine else f"TASK ERROR: {status}")

    def active(self, node: str | None = None, vmid: int | None = None) -> list[Task]:
        """Running ones, of a node, of a VM."""
        tasks = [task for task in self.all.values() if task.running]
        return [task for task in tasks if node in (None, task.node) and (vmid is None or task.id == str(vmid))]
