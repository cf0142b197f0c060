"""The verdicts of the one gate that every disruptive act on a control plane passes, before the act and after it.

From Talos 1.13 on a node no longer checks etcd before an upgrade, and `reset` only tries to leave. So the proof is
made here. Before: etcd has quorum now, keeps it during the act and after it, its members agree on the member list,
there is no learner and no alarm, and no other control plane's API is down. After: the control plane is back, and no
other one was lost. What is not known counts against the act.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

# Away for a while; or only its services restart, or its network changes; or away for good.
Act = Literal["restart", "change", "remove"]


@dataclass(frozen=True, slots=True)
class Member:
    """An etcd member as it was found."""

    name: str
    healthy: bool
    learner: bool = False


@dataclass(frozen=True, slots=True)
class EtcdView:
    """All that was found out about etcd. `agreed`: every member that was asked listed the same members."""

    members: tuple[Member, ...]
    agreed: bool = True
    alarms: tuple[str, ...] = ()

    @property
    def voters(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if not member.learner)

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)

    def without(self, name: str) -> EtcdView:
        """As it will be once this member is removed: what the next removal of a plan is judged against."""
        return replace(self, members=tuple(member for member in self.members if member.name != name))

    def with_healthy(self, name: str) -> EtcdView:
        """As it will be once this control plane has joined, or is back."""
        return replace(self, members=(*self.without(name).members, Member(name, True)))


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed


def majority(voters: int) -> int:
    return voters // 2 + 1


def judge(act: Act, name: str, etcd: EtcdView | None, apis: Mapping[str, str] | None = None) -> Verdict:
    """Whether the control plane `name` may be restarted or removed now.

    `apis`: by control plane why its Kubernetes API is not ready, empty if it is; None if not looked at, as in a plan:
    the gate looks again at the time of the act.
    """
    verdict = _judge_change(name, etcd) if act == "change" else _judge_etcd(act, name, etcd)
    return _judge_apis(name, apis or {}, verdict) if verdict else verdict


def _judge_change(name: str, etcd: EtcdView | None) -> Verdict:
    """Without quorum too, if the node itself is not healthy: a changed config may be what repairs it."""
    members = etcd.members if etcd is not None else ()
    down = [member.name for member in members if not member.healthy]
    if down and name not in down:
        return _no(f"the etcd member of `{down[0]}` is not healthy")
    return _yes(f"{len(members) - len(down)} of {len(members)} etcd members are healthy")


def _judge_etcd(act: Act, name: str, etcd: EtcdView | None) -> Verdict:
    if etcd is None or not etcd.members:
        return _no("the state of etcd is not known")
    refused = _unsettled(name, act, etcd)
    if refused is not None:
        return refused
    target = etcd.member(name)
    voters = len(etcd.voters)
    healthy = sum(member.healthy for member in etcd.voters)
    if healthy < majority(voters):
        return _no(f"etcd has no quorum: {healthy} of {voters} members are healthy, {majority(voters)} are needed")
    if target is None or target.learner:
        return _yes(f"`{name}` has no vote in etcd; {healthy} of {voters} members stay healthy")
    left = healthy - target.healthy
    if act == "restart":
        return _restart(name, voters, left)
    return _remove(name, voters, left)


def judge_after(
    act: Act,
    name: str,
    before: EtcdView | None,
    etcd: EtcdView | None,
    apis_before: Mapping[str, str],
    apis: Mapping[str, str],
) -> Verdict:
    """Whether the act is over: `name` is back (or gone), and whatever was healthy before still is."""
    if before is None:
        return _yes("etcd had no members before")
    if etcd is None or not etcd.members:
        return _no("the state of etcd is not known")
    expected = {member.name for member in before.members if member.healthy and member.name != name}
    ready = {one for one, why in apis_before.items() if not why and one != name}
    member = etcd.member(name)
    if act == "remove":
        if member is not None:
            return _no(f"`{name}` is still an etcd member")
    elif act == "restart":
        ready.add(name)
        if before.member(name) is not None:
            expected.add(name)
    else:  # what it was before, it is again
        ready |= {one for one, why in apis_before.items() if not why}
        expected |= {member.name for member in before.members if member.healthy}
    if not etcd.agreed:
        return _no("etcd members list different members")
    lost = sorted(one for one in expected if not ((found := etcd.member(one)) and found.healthy))
    if lost:
        return _no(f"the etcd member of `{lost[0]}` is not healthy")
    down = sorted(one for one in ready if apis.get(one, "not asked"))
    if down:
        return _no(f"the Kubernetes API of `{down[0]}` is not ready: {apis.get(down[0], 'not asked')}")
    back = "is removed" if act == "remove" else "is back"
    return _yes(f"`{name}` {back}; {len(expected)} of {len(etcd.voters)} etcd members are healthy")


def as_effect(verdict: Verdict) -> str:
    """The verdict as a plan shows it: the gate judges again right before the act."""
    return verdict.reason if verdict.allowed else f"waits until this changes: {verdict.reason}"


def _unsettled(name: str, act: Act, etcd: EtcdView) -> Verdict | None:
    if not etcd.agreed:
        return _no("etcd members list different members")
    if etcd.alarms:
        return _no(f"etcd has raised an alarm: {', '.join(etcd.alarms)}")
    learners = [member.name for member in etcd.members if member.learner]
    if learners and not (act == "remove" and learners == [name]):  # one that never catches up may be removed
        return _no(f"`{learners[0]}` is still a learner; it must be promoted first")
    return None


def _judge_apis(name: str, apis: Mapping[str, str], verdict: Verdict) -> Verdict:
    """Never two control planes down at once. One that is down itself may be acted on: that is how it is repaired."""
    down = sorted(one for one, why in apis.items() if why and one != name)
    if down and not apis.get(name):
        return _no(f"the Kubernetes API of `{down[0]}` is not ready: {apis[down[0]]}")
    return verdict


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
