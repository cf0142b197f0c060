"""Why a cluster is not healthy: failed checks, folded into the few causes that they are symptoms of.

A machine that is powered off fails ten checks; only the machine matters. Causes are tried from the machine upwards:
machine, node, etcd, Kubernetes API, CNI. What none of them explains is a cause of its own: the first check that fails
on a node, for checks stand in the order in which one depends on another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from talosmith.model.machines import Machine
from talosmith.observed.fixes import Commands
from talosmith.observed.round import Expected
from talosmith.observed.verdicts import Check, Checked, Failure, Verdict, by_reason

CauseKind = Literal[
    "machine-missing",
    "machine-off",
    "no-answer",
    "etcd-not-bootstrapped",
    "etcd-no-quorum",
    "api-unreachable",
    "no-cni",
    "check",  # a check that fails for no other reason known
    "unstable",  # all checks hold now, and did not a moment ago
]

NO_CNI = "nodes are NotReady: no CNI is installed (cluster.network.cni: none in the machine config)"
_NAMED = 5  # nodes in one line
_DEPENDS_ON_NODES = ("components", "kube-proxy", "coredns")


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    kind: CauseKind
    cause: str  # one sentence
    nodes: tuple[str, ...] = ()  # empty: the cluster as a whole
    fix: str = ""
    checks: tuple[str, ...] = ()  # ids of the checks that fail because of it

    def __str__(self) -> str:
        number = len(self.checks)
        return f"{self.cause}: {number} checks fail" if number > 1 else self.cause


def root_causes(
    found: Sequence[Checked],
    expected: Expected,
    machines: Mapping[str, Machine] | None = None,
    *,
    folder: Path | None = None,
) -> tuple[RootCause, ...]:
    """The causes of all failed checks, the one to fix first at the front; empty: the cluster is healthy.

    `machines`: those that the provider has; None where that is not known. `folder`: of the inventory, for commands.
    """
    folding = _Folding(found, expected, Commands(folder))
    folding.machines(machines)
    folding.silent_nodes()
    folding.etcd()
    folding.api()
    folding.cni()
    folding.other_checks()
    return tuple(folding.causes)


@dataclass(frozen=True, slots=True)
class _Symptom:
    """One failed check on one node; `node` is empty where the cluster fails as a whole."""

    check: Check
    failure: Failure
    verdict: Verdict

    @property
    def node(self) -> str:
        return self.failure.node


class _Folding:
    """Symptoms that no cause explains yet, and the causes found so far."""

    def __init__(self, found: Sequence[Checked], expected: Expected, commands: Commands) -> None:
        self._expected = expected
        self._commands = commands
        self._left = [
            _Symptom(check, failure, verdict)
            for check, verdict in found
            if not verdict.ok
            for failure in verdict.failures or (Failure("", verdict.detail),)
        ]
        self._down: set[str] = set()  # nodes without a machine that runs, or that do not answer
        self.causes: list[RootCause] = []

    def machines(self, machines: Mapping[str, Machine] | None) -> None:
        if machines is None:
            return
        missing = [name for name in self._expected.nodes if name not in machines]
        off = [name for name in self._expected.nodes if name in machines and machines[name].power == "off"]
        up = self._commands.talosmith("up")
        self._nodes_down("machine-missing", missing, _do_not_exist(missing), up)
        self._nodes_down("machine-off", off, f"{_names(off)} {_are(off)} powered off", up)

    def silent_nodes(self) -> None:
        silent = {one.node: one.failure for one in reversed(self._left) if one.failure.kind == "no-answer"}
        for reason, nodes in by_reason(failure for name, failure in silent.items() if name not in self._down).items():
            text = f"{_names(nodes)} {'does' if len(nodes) == 1 else 'do'} not answer: {reason}"
            self._nodes_down("no-answer", nodes, text, self._commands.talosmith("status"))

    def _nodes_down(self, kind: CauseKind, nodes: Sequence[str], cause: str, fix: str) -> None:
        if not nodes or not any(one.node in nodes or not one.node for one in self._left):
            return
        self._down.update(nodes)
        controlplanes = [name for name in self._expected.controlplanes if name not in self._down]
        lost = len(controlplanes) < self._quorum and any(name in self._expected.controlplanes for name in nodes)

        def explains(one: _Symptom) -> bool:
            if one.node in nodes:
                return True
            return _is_etcd_or_kubernetes(one) if lost else not one.node and not one.verdict.api_error

        cause += ", and etcd has no quorum" if lost and controlplanes else ""
        self._add(kind, cause, explains, nodes=nodes, fix=fix)

    def etcd(self) -> None:
        failing = {one.node: one.failure for one in self._left if one.check.id == "etcd-healthy" and one.node}
        healthy = len(set(self._expected.controlplanes) - failing.keys() - self._down)
        if not failing or healthy >= self._quorum:
            return
        if all(failure.kind == "not-bootstrapped" for failure in failing.values()):
            fix = self._commands.talosmith("up")
            self._add("etcd-not-bootstrapped", "etcd is not bootstrapped", lambda one: True, fix=fix)
            return
        number, reason = len(self._expected.controlplanes), next(iter(failing.values())).reason
        cause = f"etcd has no quorum: {healthy} of {number} members healthy, {self._quorum} needed ({reason})"
        fix = self._commands.talosmith("status")
        self._add("etcd-no-quorum", cause, _is_etcd_or_kubernetes, nodes=sorted(failing), fix=fix)

    def api(self) -> None:
        reason = next((one.failure.reason for one in self._left if one.verdict.api_error), "")
        if reason:
            cause, fix = f"Kubernetes API is not reachable: {reason}", self._commands.talosmith("status")
            self._add("api-unreachable", cause, lambda one: one.check.of_kubernetes, fix=fix)

    def cni(self) -> None:
        nodes = [one.node for one in self._left if one.failure.kind == "no-cni"]
        if nodes:
            fix = f"install a CNI ({self._commands.kubectl('apply', '-f', 'FILE')}), then: "

            def explains(one: _Symptom) -> bool:
                return one.failure.kind == "no-cni" or one.check.id == "coredns"

            self._add("no-cni", NO_CNI, explains, nodes=nodes, fix=fix + self._commands.talosmith("health"))

    def other_checks(self) -> None:
        while self._left:
            first = self._left[0]
            check, nodes = first.check, [one.node for one in self._left if one.check is first.check and one.node]
            if self.causes and not nodes and check.id in _DEPENDS_ON_NODES:
                self._fold_into_first(first)
                continue
            same = [one.failure for one in self._left if one.check is check]
            cause = f"{check.failed}: {_reasons(same)}"

            def explains(one: _Symptom, check: Check = check, nodes: Collection[str] = nodes) -> bool:
                return one.check is check or (bool(one.node) and one.node in nodes)

            fix = self._commands.for_check(check.id, nodes[0] if nodes else "")
            self._add("check", cause, explains, nodes=nodes, fix=fix)

    def _fold_into_first(self, symptom: _Symptom) -> None:
        """A workload whose pods run on nodes is not ready while a node fails."""
        self._left.remove(symptom)
        first = self.causes[0]
        self.causes[0] = replace(first, checks=tuple(dict.fromkeys((*first.checks, symptom.check.id))))

    @property
    def _quorum(self) -> int:
        return len(self._expected.controlplanes) // 2 + 1

    def _add(
        self,
        kind: CauseKind,
        cause: str,
        explains: Callable[[_Symptom], bool],
        *,
        nodes: Iterable[str] = (),
        fix: str,
    ) -> None:
        explained = [one for one in self._left if explains(one)]
        self._left = [one for one in self._left if not explains(one)]
        checks = tuple(dict.fromkeys(one.check.id for one in explained))
        self.causes.append(RootCause(kind=kind, cause=cause, nodes=tuple(nodes), fix=fix, checks=checks))


def _is_etcd_or_kubernetes(one: _Symptom) -> bool:
    return one.check.of_kubernetes or one.check.id.startswith("etcd")


def _reasons(failures: Sequence[Failure]) -> str:
    groups = by_reason(failures)
    return "; ".join(f"{_names(nodes)}: {reason}" if nodes[0] else reason for reason, nodes in groups.items())


def _names(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:_NAMED])
    return shown if len(nodes) <= _NAMED else f"{shown} and {len(nodes) - _NAMED} more"


def _do_not_exist(nodes: Sequence[str]) -> str:
    return (
        f"machine of {_names(nodes)} does not exist"
        if len(nodes) == 1
        else f"machines of {_names(nodes)} do not exist"
    )


def _are(nodes: Sequence[str]) -> str:
    return "is" if len(nodes) == 1 else "are"
