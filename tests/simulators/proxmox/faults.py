"""What goes wrong on demand: lost requests and answers, refused calls, dead workers, held locks, daemons down.

Calls are matched by method and path; in a path `*` stands for one part and `**` for any number: `/nodes/*/qemu/**`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .errors import Refused, lock_timeout
from .tasks import Flocks, Task

When = Literal["before", "after", "slow", "answer"]
_CHANCE_KINDS = ("595", "596", "599", "reset", "lost answer", "dead task", "lock")


@dataclass
class Rule:
    """Holds for the next so many calls that match."""

    what: When
    times: int
    method: str = "*"
    path: str = "**"
    seconds: float = 0.0
    refusal: Refused | None = None

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("*", method) and re.fullmatch(_pattern(self.path), path) is not None


def _pattern(path: str) -> str:
    parts = re.split(r"(\*\*|\*)", path)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)


@dataclass
class Verdict:
    """What happens to one call."""

    lose_request: bool = False
    lose_answer: bool = False
    seconds: float = 0.0
    refusal: Refused | None = None
    kill_task: bool = False


@dataclass
class Faults:
    pvedaemon_down: bool = False
    pmxcfs_down: bool = False
    rules: list[Rule] = field(default_factory=list)
    _deaths: list[tuple[str, str]] = field(default_factory=list)  # type of task, status
    _expiring: dict[str, int] = field(default_factory=dict)  # a token's id: calls left
    _percent: float = 0.0
    _chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    _failures: int = 0
    _flocks: Flocks = field(default_factory=Flocks)
    _after: Callable[[float, Callable[[], None]], None] = lambda seconds, what: None

    def lose_answers(self, times: int = 1, method: str = "*", path: str = "**") -> None:
        """The calls have an effect; then the connection is closed without an answer."""
        self.rules.append(Rule("after", times, method, path))

    def lose_requests(self, times: int = 1, method: str = "*", path: str = "**") -> None:
        """The connection is closed without an effect."""
        self.rules.append(Rule("before", times, method, path))

    def refuse(
        self, status: int, reason: str, times: int = 1, method: str = "*", path: str = "**", empty: bool = False
    ) -> None:
        """The calls are answered so and have no effect. 595, 596 and 599 have no body."""
        refusal = Refused(status, reason, empty=empty or status > 590)
        self.rules.append(Rule("answer", times, method, path, refusal=refusal))

    def slow(self, seconds: float, times: int = 1, method: str = "*", path: str = "**") -> None:
        """The answers come so many real seconds later, the effect at once."""
        self.rules.append(Rule("slow", times, method, path, seconds))

    def kill_tasks(self, times: int = 1, type: str = "", status: str = "unexpected status") -> None:  # noqa: A002
        """The workers of the next tasks (qmcreate, qmstart, …; all, if no type is given) die at the first step."""
        self._deaths += [(type, status)] * times

    def hold_flock(self, vmid: int, seconds: float | None = None) -> None:
        """Another process holds the lock file: until `release_flock`, or for so many seconds of the world's clock."""
        self._flocks.take(vmid)
        if seconds is not None:
            self._after(seconds, lambda: self._flocks.give_back(vmid))

    def release_flock(self, vmid: int) -> None:
        self._flocks.give_back(vmid)

    def expire_token(self, token_id: str, after: int) -> None:
        """The token is refused after so many more calls."""
        self._expiring[token_id] = after

    def fail_percent(self, percent: float, seed: int = 0) -> None:
        """So many of all calls fail, each in another way in turn."""
        self._percent = percent
        self._failures = 0
        self._chance = random.Random(seed)  # noqa: S311

    def clear(self) -> None:
        self.rules.clear()
        self._deaths.clear()
        self._expiring.clear()
        self._percent = 0.0
        self.pvedaemon_down = self.pmxcfs_down = False

    def judge(self, method: str, path: str) -> Verdict:
        verdict = Verdict()
        for rule in self.rules:
            if rule.matches(method, path):
                rule.times -= 1
                verdict.lose_request |= rule.what == "before"
                verdict.lose_answer |= rule.what == "after"
                verdict.seconds += rule.seconds
                verdict.refusal = verdict.refusal or rule.refusal
        self.rules = [rule for rule in self.rules if rule.times > 0]
        if self._percent and self._chance.random() * 100 < self._percent:
            self._fail(verdict, method, path)
        return verdict

    def _fail(self, verdict: Verdict, method: str, path: str) -> None:
        kind = _CHANCE_KINDS[self._failures % len(_CHANCE_KINDS)]
        self._failures += 1
        vm = re.match(r"/nodes/[^/]+/qemu/(\d+)", path)
        if kind == "reset":
            verdict.lose_request = True
        elif kind == "lost answer":
            verdict.lose_answer = True
        elif kind == "dead task":
            verdict.kill_task = True
        elif kind == "lock" and vm and method != "GET":  # reading takes no lock
            verdict.refusal = Refused(500, lock_timeout(int(vm[1])))
        else:
            reasons = {"595": "Connection refused", "596": "Connection timed out", "599": "Too many redirections"}
            status = kind if kind in reasons else "596"
            verdict.refusal = Refused(int(status), reasons[status], empty=True)

    def token_expired(self, token_id: str) -> bool:
        if token_id not in self._expiring:
            return False
        self._expiring[token_id] -= 1
        return self._expiring[token_id] < 0

    def death_of(self, task: Task) -> str:
        """The status with which a task dies, or nothing."""
        for death in self._deaths:
            if death[0] in ("", task.type):
                self._deaths.remove(death)
                return death[1]
        return ""
