"""A health check and what it found, node by node: what `health` shows and what root causes are derived from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from talosmith.errors import TalosmithError
from talosmith.kube import KubeError
from talosmith.observed.round import Round
from talosmith.talos import Swept

T = TypeVar("T")

FailureKind = Literal["", "no-answer", "no-cni", "not-bootstrapped"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a check fails on one node. `kind` is set where the failure is a symptom of a known root cause."""

    node: str
    reason: str
    kind: FailureKind = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check holds. `detail`: the reason in one line, or a remark on a check that holds."""

    ok: bool
    detail: str = ""
    failures: tuple[Failure, ...] = ()  # empty also where the cluster fails as a whole, such as its API
    api_error: bool = False  # the Kubernetes API could not be asked


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a healthy cluster: `name` is Talos' own, `fact` and `failed` are what people read.

    `look` raises defects of talosmith only; every other error is a verdict.
    """

    id: str
    name: str
    fact: str
    failed: str
    look: Callable[[Round], Awaitable[Verdict]]
    of_kubernetes: bool = False

    def sentence(self, verdict: Verdict) -> str:
        if verdict.ok:
            return self.fact
        return f"{self.failed}: {verdict.detail}" if verdict.detail else self.failed


Checked = tuple[Check, Verdict]

OK = Verdict(True)


def caught(look: Callable[[Round], Awaitable[Verdict]]) -> Callable[[Round], Awaitable[Verdict]]:
    """`look`, with errors of nodes and of the Kubernetes API as verdicts."""

    async def judged(found: Round) -> Verdict:
        try:
            return await look(found)
        except TalosmithError as wrong:
            return Verdict(False, str(wrong), api_error=isinstance(wrong, KubeError))

    return judged


def verdict(failures: Iterable[Failure]) -> Verdict:
    """Holds if no node fails; else the first failure and the number of the others are the detail."""
    found = tuple(sorted(failures, key=lambda failure: failure.node))
    if not found:
        return OK
    first = found[0]
    detail = first.reason if first.reason.startswith(first.node) else f"{first.node}: {first.reason}"
    return Verdict(False, detail + (f" (and {len(found) - 1} more)" if len(found) > 1 else ""), found)


def by_node(reasons: Mapping[str, str]) -> Verdict:
    return verdict(Failure(node, reason) for node, reason in reasons.items())


def by_reason(failures: Iterable[Failure]) -> dict[str, list[str]]:
    """Nodes by the reason that they share, which is without a node's own name and address at its front."""
    found: dict[str, list[str]] = {}
    for one in sorted(failures, key=lambda failure: failure.node):
        named = bool(one.node) and one.reason.startswith(one.node)
        found.setdefault(one.reason.partition(": ")[2] if named else one.reason, []).append(one.node)
    return found


def swept_verdict(expected: Iterable[str], swept: Swept[T], failures: Iterable[Failure] = ()) -> Verdict:
    """All expected nodes answered, and none of them fails."""
    silent = [name for name in expected if name not in swept.results and name not in swept.errors]
    found = {name: Failure(name, "no answer", "no-answer") for name in silent}
    found |= {name: Failure(name, str(wrong), "no-answer") for name, wrong in swept.errors.items()}
    found |= {failure.node: failure for failure in failures}
    return verdict(found.values())


def same_names(found: set[str], expected: Iterable[str], missing: str, extra: str) -> Verdict:
    wanted = set(expected)
    return by_node({**dict.fromkeys(wanted - found, missing), **dict.fromkeys(found - wanted, extra)})
