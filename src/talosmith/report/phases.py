"""The phase of a node during a run, by the events of its steps, in the words of `observed/phase.py`.

A step that observes the node reports its phase. Between two reports it follows from what was done last: a machine
that was just created boots, a node with a new machine config joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from talosmith.observed.phase import Phase, shown
from talosmith.plan.step import kind_of
from talosmith.report.follow import StepSeen

# By kind of step: the phase while it runs, until it reports one, and the phase that it leaves; empty: as before.
_KINDS: dict[str, tuple[Phase | None, Phase | None]] = {
    "machine": ("no-machine", "booting"),
    "machine/power": ("off", "booting"),
    "machine/destroy": (None, "no-machine"),
    "node/config": (None, "joining"),
    "etcd/bootstrap": ("joining", None),
    "node/joined": ("joining", "ready"),
    "node/reboot": ("rebooting", "ready"),
    "node/reset": ("resetting", "maintenance"),
}
_JOINED = "node/joined"


def phase_text(steps: Sequence[StepSeen]) -> str:
    """The phase of the node that all these steps are about, as shown; empty where nothing is known of it."""
    known = ""
    is_new = any(_kind(step) == _JOINED for step in steps)
    for step in sorted(steps, key=lambda one: one.began or float("inf")):
        if step.began is None:
            break
        before, after = _KINDS.get(_kind(step), (None, None))
        if _kind(step) == "node/config" and not is_new:
            after = "ready"
        known = (after if step.state == "done" else "") or step.phase or before or known
    return shown(_phase(known)) if known else ""


def _kind(step: StepSeen) -> str:
    return kind_of(step.key, step.subject)


def _phase(text: str) -> Phase:
    found: Phase = next((one for one in get_args(Phase) if one == text), "unknown")
    return found
