"""The health of a cluster: root causes first, each with its fix; checks that hold as facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talosmith.report.style import Style
from talosmith.report.text import count, listed, one_line

if TYPE_CHECKING:  # `up` reports health only after it has asked the nodes
    from talosmith.observed.health import Health
    from talosmith.observed.verdicts import Check, Verdict


def as_data(health: Health, cluster: str) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "healthy": health.healthy,
        "causes": [
            {"kind": one.kind, "cause": one.cause, "nodes": one.nodes, "fix": one.fix, "checks": one.checks}
            for one in health.causes
        ],
        "conditions": [
            {
                "id": check.id,
                "name": check.name,
                "ok": verdict.ok,
                "detail": verdict.detail,
                "failures": {failure.node: failure.reason for failure in verdict.failures},
            }
            for check, verdict in health.checks
        ],
    }


def as_text(health: Health, cluster: str, style: Style, *, verbose: bool = False) -> str:
    return "\n".join(_lines(health, cluster, style, verbose))


def causes_as_text(health: Health, style: Style) -> str:
    return "\n".join(_causes(health, style))


def _causes(health: Health, style: Style) -> Iterator[str]:
    for cause in health.causes:
        yield f"{style.red('✗')} {one_line(cause)}"
        if cause.fix:
            yield f"    {style.dim('fix:')} {one_line(cause.fix)}"


def _lines(health: Health, cluster: str, style: Style, verbose: bool) -> Iterator[str]:
    yield from _causes(health, style)
    failed = [verdict for _, verdict in health.checks if not verdict.ok]
    for check, verdict in health.checks:
        if verdict.ok:
            remark = f"  {style.dim(one_line(verdict.detail))}" if verdict.detail else ""
            yield f"{style.green('✓')} {check.fact}{remark}"
        elif verbose:
            yield from _failed(check, verdict, style)
    name = one_line(cluster)
    if health.healthy:
        yield style.green(f"{name} is healthy: {count(len(health.checks), 'check')}")
    else:
        folded = "" if verbose or not failed else " (--all lists them)"
        yield (
            style.red(f"{name} is not healthy: {len(failed)} of {count(len(health.checks), 'check')} failed") + folded
        )


def _failed(check: Check, verdict: Verdict, style: Style) -> Iterator[str]:
    if not verdict.failures:
        yield f"{style.red('✗')} {one_line(check.sentence(verdict))}"
        return
    from talosmith.observed.verdicts import by_reason

    yield f"{style.red('✗')} {check.failed}"
    for reason, nodes in by_reason(verdict.failures).items():
        yield f"    {one_line(listed(nodes))}: {one_line(reason)}"
