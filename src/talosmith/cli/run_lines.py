"""What `up` and `destroy` print with `-o json` and `-o yaml`: events, an Error if there is one, then a Result.

A program that follows a run reads the same kinds of objects however the command ends: with an empty plan, with a
refused plan, with a failure before the run starts, or with Ctrl-C.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talosmith.cli.options import Output
from talosmith.cli.pasteable import pasteable
from talosmith.errors import ExitCode, TalosmithError

if TYPE_CHECKING:
    from talosmith.engine.runner import Outcome
    from talosmith.plan.step import Plan
    from talosmith.report.json_lines import JsonLines

_NO_STEPS = dict.fromkeys(("total", "done", "changed", "failed", "left"), 0)
_OUTCOMES = {
    ExitCode.DONE: "done",
    ExitCode.BLOCKED: "blocked",
    ExitCode.INTERRUPTED: "stopped",
    ExitCode.UNHEALTHY: "unhealthy",
}


class RunLines:
    """The objects of one command. With text output nothing is printed here, and errors pass through."""

    def __init__(self, operation: str, output: Output) -> None:
        self.active = output is not Output.TEXT
        self._yaml = output is Output.YAML
        self._started = time.monotonic()
        self._made: JsonLines | None = None
        self.cluster: str | None = None
        self._result: dict[str, Any] = {
            "operation": operation,
            "outcome": None,
            "steps": _NO_STEPS,
        }

    @property
    def listener(self) -> JsonLines:
        if self._made is None:
            from talosmith.report.json_lines import JsonLines

            self._made = JsonLines(sys.stdout, yaml=self._yaml)
        return self._made

    def reported(self, work: Callable[[], int]) -> int:
        """Run the command; the exit code. The Result is written whatever the end."""
        if not self.active:
            return work()
        try:
            code = work()
        except TalosmithError as failure:
            from talosmith.report.failure import as_data

            code = failure.exit_code
            failure.hint = pasteable(failure.hint)
            self.listener.write("Error", as_data(failure))
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
        self._finish(code)
        return code

    def unchanged(self) -> None:
        """An empty plan starts no run; the line says so to programs that wait for the end of one."""
        from talosmith.events import Event

        data = {"outcome": "unchanged", "done": [], "failed": [], "left": []}
        self.listener(Event(kind="run-finished", at=time.time(), data=data))
        self._result.update(outcome="unchanged")

    def ended(self, plan: Plan[Any], outcome: Outcome) -> None:
        steps = {
            "total": len(plan.steps),
            "done": len(outcome.done),
            "changed": len(outcome.changed),
            "failed": len(outcome.failed),
            "left": len(outcome.left),
        }
        self._result.update(outcome=outcome.word, steps=steps)

    def _finish(self, code: int) -> None:
        ended = self._result["outcome"]
        failed = code not in (ExitCode.DONE, ExitCode.CHANGES_PENDING)
        if ended is None or (failed and ended in ("done", "unchanged")):  # an error outside of the run
            ended = _OUTCOMES.get(ExitCode(code), "failed")
        seconds = round(time.monotonic() - self._started, 3)
        result = {**self._result, "outcome": ended, "exit_code": int(code), "seconds": seconds}
        self.listener.write("Result", {"run": self.listener.run, "cluster": self.cluster, **result})
