"""Steps and plans: what is going to be done, in which order, why, and what it disrupts.

A plan is data. It is made by an operation (pure), shown by `report`, run by `engine`, and the same plan for the same
state has the same digest: that is how a saved plan is known to be stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from talosmith.model.drift import Drift
from talosmith.model.evictions import Evictions
from talosmith.model.resources import SettingChange
from talosmith.plan.blocked import Blocked

Disruption = Literal["none", "restart", "reboot", "drain", "wipe"]  # from harmless to final
SEVERITY: Mapping[Disruption, int] = {"none": 0, "restart": 1, "reboot": 2, "drain": 3, "wipe": 4}
# What a step belongs to, in the order in which a bring-up passes them: the points of the final checklist.
Stage = Literal[
    "resources", "machines", "configs", "etcd", "api", "nodes", "addons", "seeds", "health", "files", "removal", ""
]  # fmt: skip

C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class StepKey(str):
    """The name of a step: area, subject (a node, or empty), verb (may be empty). Written `node/cp-2/config`.

    Action classes make the keys, so a misspelt edge of a plan is a name that does not exist, not a string like any
    other. A key is a string for whatever only shows or stores it.
    """

    area: str
    subject: str
    verb: str
    is_optional: bool

    def __new__(cls, area: str, subject: str = "", verb: str = "", *, is_optional: bool = False) -> StepKey:
        key = super().__new__(cls, "/".join(filter(None, (area, subject, verb))))
        key.area, key.subject, key.verb, key.is_optional = area, subject, verb, is_optional
        return key

    @property
    def if_planned(self) -> StepKey:
        """The same key as an optional edge: ignored if the plan has no such step."""
        return StepKey(self.area, self.subject, self.verb, is_optional=True)


class Report(Protocol):
    """How a running step reports what it waits for and the last thing it saw.

    `hint` is shown if it waits in vain; `phase` is the node's, as `observed/phase.py` has them; empty: not observed.
    """

    def __call__(self, text: str, hint: str = "", *, phase: str = "") -> None: ...


class Action(Protocol[C_contra]):
    """A verb bound to its subject, such as “apply machine config” to `cp-2`; it works with a context of type C.

    `steps/` has them. Both methods may be called twice: `done` has no effects, and `run` of what is done already
    changes nothing.
    """

    @property
    def key(self) -> StepKey:
        """Stable, such as `node/cp-2/config`."""

    @property
    def stage(self) -> Stage: ...

    @property
    def subject(self) -> str:
        """The node it is about; empty: the cluster as a whole."""

    @property
    def disruption(self) -> Disruption: ...

    @property
    def limit(self) -> float:
        """Seconds it may take, waiting and trying again included."""

    def describe(self) -> str:
        """In a few words, such as `apply its config without a reboot`."""

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        """What changes of a machine config, a machine or a resource: each setting with its value before and after."""

    def calls(self) -> tuple[str, ...]:
        """Every call that changes something which running it may make, such as `talos:ApplyConfiguration`."""

    async def done(self, context: C_contra) -> bool:
        """Whether the world is already as this leaves it."""

    async def run(self, context: C_contra, report: Report) -> None:
        """Raises `Temporary` where trying again may help, `Permanent` where not."""


def kind_of(key: str, subject: str) -> str:
    """What steps on different nodes have in common: `node/cp-2/config` is of the kind `node/config`."""
    area, _, rest = key.partition("/")
    name, _, verb = rest.partition("/")
    return "/".join(filter(None, (area, verb))) if subject and name == subject else key


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[C]):
    action: Action[C]
    reason: str
    needs: tuple[StepKey, ...] = ()
    expected: float | None = None  # seconds, from earlier runs
    effect: str = ""  # what it means for etcd's quorum or the API, where it means something
    evictions: Evictions | None = None  # what it does to pods, where it ends some

    @property
    def key(self) -> StepKey:
        return self.action.key

    @property
    def subject(self) -> str:
        return self.action.subject

    @property
    def kind(self) -> str:
        return kind_of(self.key, self.subject)

    @property
    def stage(self) -> Stage:
        return self.action.stage

    @property
    def disruption(self) -> Disruption:
        return self.action.disruption

    def as_data(self) -> dict[str, Any]:
        """For JSON and the digest; nothing secret is in it."""
        return {
            "key": str(self.key),
            "subject": self.subject,
            "stage": self.stage,
            "title": self.action.describe(),
            "reason": self.reason,
            "needs": [str(need) for need in self.needs],
            "disruption": self.disruption,
            "effect": self.effect,
            "settings": [asdict(one) for one in self.action.settings],
            "calls": list(self.action.calls()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[C]):
    """Steps in an order in which they could be run one by one. `blocked` says why it must not be run at all."""

    operation: str
    cluster: str
    steps: tuple[Step[C], ...]
    notes: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    confirm: tuple[str, ...] = ()  # what has to be confirmed beyond a plain yes, in words
    drift: tuple[Drift, ...] = ()  # in which nodes differ from the inventory, whether a step changes that or not

    def __iter__(self) -> Iterator[Step[C]]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def empty(self) -> bool:
        return not self.steps

    @property
    def in_sync(self) -> bool:
        """Nothing to do, nothing that forbids it, and no node differs from the inventory."""
        return not (self.steps or self.blocked or self.drift)

    @property
    def drift_left(self) -> tuple[Drift, ...]:
        """What differs after the plan was run, too: versions, which an upgrade changes."""
        return tuple(one for one in self.drift if one.kind in ("talos-version", "kubernetes-version"))

    def step(self, key: str) -> Step[C]:
        for step in self.steps:
            if step.key == key:
                return step
        raise KeyError(key)

    def as_data(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "cluster": self.cluster,
            "digest": self.digest,
            "in_sync": self.in_sync,
            "steps": [
                {
                    **step.as_data(),
                    "expected_seconds": step.expected,
                    "evictions": None if step.evictions is None else asdict(step.evictions),
                }
                for step in self.steps
            ],
            "drift": [asdict(one) for one in self.drift],
            "notes": list(self.notes),
            "blocked": [one.as_data() for one in self.blocked],
            "confirm": list(self.confirm),
        }

    @property
    def digest(self) -> str:
        """Of all that would be done. Expected times and pods are not part of it; configs are, masked fields too."""
        configs = [asdict(one) for one in self.drift if one.kind == "config"]
        blocked = [one.as_data() for one in self.blocked]
        data = [self.operation, self.cluster, [step.as_data() for step in self.steps], blocked, configs]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
