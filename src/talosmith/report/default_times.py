"""How long steps take where no earlier run of the cluster has shown it: the one table of defaults.

The journal's median of a kind of step takes precedence. Defaults serve the estimate of what is left of a run, and are
corrected as it goes: if its first steps take half as long as here, so will the others.
"""

from __future__ import annotations

from collections.abc import Iterable

from talosmith.plan.step import kind_of
from talosmith.report.follow import StepSeen

# kind of step: seconds on virtual machines, and in a lab
DEFAULTS: dict[str, tuple[float, float]] = {
    "machine": (30, 0.5),  # the image is on the host
    "machine/power": (10, 0.2),
    "machine/resize": (120, 1),
    "machine/seed": (5, 0.1),
    "machine/destroy": (10, 0.2),
    "node/config": (120, 1.2),  # boot, installation, reboot
    "etcd/bootstrap": (5, 0.1),
    "cluster/controlplane": (90, 0.7),  # images are pulled, static pods start
    "node/joined": (60, 0.3),
    "node/reboot": (120, 1),
    "node/reset": (60, 0.5),
    "node/drain": (60, 0.3),
    "node/uncordon": (1, 0.1),
    "node/deleted": (1, 0.1),
    "etcd/leave": (15, 0.3),
    "etcd/remove": (5, 0.1),
    "cluster/health": (15, 0.2),
    "files/talosconfig": (0.1, 0.05),
    "files/kubeconfig": (0.5, 0.05),
}
_OTHER = (15.0, 0.3)


def default_time(step: StepSeen, *, simulated: bool = False) -> float:
    return DEFAULTS.get(kind_of(step.key, step.subject), _OTHER)[simulated]


def pace(steps: Iterable[StepSeen], *, simulated: bool = False) -> float:
    """How long the steps that are done took, as a share of their defaults; 1 while none is done."""
    took = wanted = 0.0
    for step in steps:
        if step.state == "done" and step.changed and step.began is not None and step.ended is not None:
            took += step.ended - step.began
            wanted += default_time(step, simulated=simulated)
    return took / wanted if took > 0 and wanted else 1.0
