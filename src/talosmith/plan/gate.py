"""The one gate that every disruptive act on a control plane passes.

From Talos 1.13 on a node no longer looks at etcd before it upgrades itself, and `reset` only tries to leave. So the
proof is made here: etcd has a quorum now, will have one while the act lasts and after it, its members agree about who
they are, nobody is a learner, nothing is alarmed, and no other control plane is away. What is not known counts
against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Act = Literal["restart", "remove"]  # away for a while, or for good


@dataclass(frozen=True, slots=True)
class Member:
    """An etcd member as it was found."""

    name: str
    healthy: bool
    learner: bool = False


@dataclass(frozen=True, slots=True)
class EtcdView:
    """All that was found out about etcd. `agreed`: every member that was asked named the same members."""

    members: tuple[Member, ...]
    agreed: bool = True
    alarms: tuple[str, ...] = ()

    @property
    def voters(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if not member.learner)


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed


def majority(voters: int) -> int:
    return voters // 2 + 1


def judge(act: Act, name: str, etcd: EtcdView | None, *, away: frozenset[str] = frozenset()) -> Verdict:
    """Whether the control plane `name` may be restarted or removed; `away` are others that are being worked on."""
    if etcd is None or not etcd.members:
        return _no("the state of etcd is not known")
    refused = _unsettled(name, act, etcd, away)
    if refused is not None:
        return refused
    target = next((member for member in etcd.members if member.name == name), None)
    voters = len(etcd.voters)
    healthy = sum(member.healthy for member in etcd.voters)
    if healthy < majority(voters):
        return _no(f"etcd has no quorum: {healthy} of {voters} members are healthy, {majority(voters)} are needed")
    if target is None or target.learner:
        return _yes(f"`{name}` has no vote in etcd; {healthy} of {voters} members stay")
    left = healthy - target.healthy
    if act == "restart":
        return _restart(name, voters, left)
    return _remove(name, voters, left)


def spoken(verdict: Verdict) -> str:
    """What the gate would say now, for a plan: at the time of the act it is asked again, and holds it back."""
    return verdict.reason if verdict.allowed else f"held back as long as this is so: {verdict.reason}"


def _unsettled(name: str, act: Act, etcd: EtcdView, away: frozenset[str]) -> Verdict | None:
    others = sorted(away - {name})
    if others:
        return _no(f"`{others[0]}` is being worked on; one control plane at a time")
    if not etcd.agreed:
        return _no("etcd's members do not agree about who they are")
    if etcd.alarms:
        return _no(f"etcd has raised an alarm: {', '.join(etcd.alarms)}")
    learners = [member.name for member in etcd.members if member.learner]
    if learners and not (act == "remove" and learners == [name]):  # one that never catches up may go
        return _no(f"`{learners[0]}` is still learning; it must be promoted first")
    return None


def _restart(name: str, voters: int, left: int) -> Verdict:
    if voters == 1:
        return _yes(f"`{name}` is the only control plane; the API is away while it restarts")
    if left < majority(voters):
        return _no(f"while `{name}` restarts, {left} of {voters} members are healthy; {majority(voters)} are needed")
    return _yes(f"{left} of {voters} members stay healthy while `{name}` restarts")


def _remove(name: str, voters: int, left: int) -> Verdict:
    after = voters - 1
    if after == 0:
        return _no(f"`{name}` is the last member of etcd; without it the cluster is gone")
    if left < majority(after):
        return _no(f"without `{name}`, {left} of {after} members are healthy; {majority(after)} are needed")
    return _yes(f"{left} of {after} members stay healthy without `{name}`")


def _yes(reason: str) -> Verdict:
    return Verdict(True, reason)


def _no(reason: str) -> Verdict:
    return Verdict(False, reason)
