"""Whether the caller is allowed what `permissions.py` lists: as IAM simulates it, and as EC2 itself says without
carrying anything out (DryRun).

EC2 counts all that decides; IAM's simulation knows neither session policies nor what a condition depends on, so what
EC2 says comes first. What IAM cannot say stays open, and is no error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from talosmith.providers.aws.actions import CHECKS
from talosmith.providers.aws.checks_base import Planned, error, note, ok
from talosmith.providers.aws.checks_dry_run import dry_runs
from talosmith.providers.aws.failures import POLICY, Denied, Gone
from talosmith.providers.aws.permissions import statements
from talosmith.providers.aws.policies import partition
from talosmith.providers.aws.statement import Statement
from talosmith.providers.base import Finding

CHECK = "permissions"
_MOST = 1000  # results of a page
_SHOWN = 8  # actions of each service that were not checked
_READING = ("Describe", "Get", "List", "Simulate")
_FIRST_OF_ALL = "EC2 (DryRun)"


@dataclass(slots=True)
class Judged:
    missing: dict[str, str] = field(default_factory=dict)  # action: who says so
    allowed: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)  # conditions ask for what the simulation does not know


async def check_permissions(planned: Planned) -> list[Finding]:
    needed = statements(planned.settings)
    everything = {action for one in needed for action in one.on}
    if planned.identity.arn.endswith(":root"):
        return [ok(CHECK, f"{planned.identity.arn} is the root user: all {len(everything)} actions are allowed")]
    tried, simulated = await asyncio.gather(dry_runs(planned), _simulated(planned, needed))
    judged, refused = simulated
    for action, allowed in tried.items():
        judged.missing.pop(action, None)
        judged.allowed.add(action)
        if not allowed:
            judged.missing[action] = _FIRST_OF_ALL
    unknown = everything - judged.allowed - judged.missing.keys()
    return [*_missing(planned, needed, judged), *_not_checked(unknown, refused, len(everything))] or [
        ok(CHECK, f"all {len(everything)} actions that this inventory needs are allowed")
    ]


async def _simulated(planned: Planned, needed: Sequence[Statement]) -> tuple[Judged, str]:
    """And why not, if IAM does not simulate."""
    judged = Judged()
    try:
        source = await _principal(planned)
        if not source:
            return judged, f"IAM simulates policies of users and roles only, not of {planned.identity.arn}"
        results = await asyncio.gather(*(_simulate(planned, source, one) for one in needed))
    except Denied as refused:
        return judged, f"{refused.action or 'the simulation'} is denied (AccessDenied)"
    except Gone as missing:
        return judged, str(missing)
    for one, found in zip(needed, results, strict=True):
        _judge(judged, one, found, planned)
    judged.allowed -= judged.missing.keys() | judged.open
    return judged, ""


async def _principal(planned: Planned) -> str:
    """The user, or the role that was assumed, whose path only IAM knows."""
    arn, account = planned.identity.arn, planned.identity.account
    if ":assumed-role/" not in arn:
        return arn if ":user/" in arn else ""
    name = arn.split("/")[1]
    try:
        return str((await planned.client.call("iam", "get_role", RoleName=name))["Role"]["Arn"])
    except (Denied, Gone):
        return f"arn:{partition(planned.client.region)}:iam::{account}:role/{name}"


async def _simulate(planned: Planned, source: str, one: Statement) -> list[Mapping[str, Any]]:
    arns = sorted({_example(arn, planned) for many in one.on.values() for arn in many} - {"*"})
    more = {"ResourceArns": arns} if arns else {}
    return await planned.client.listed(
        "iam", "simulate_principal_policy", "EvaluationResults", PolicySourceArn=source, ActionNames=one.names,
        ContextEntries=[*_context(one, planned)], MaxItems=_MOST, **more,
    )  # fmt: skip


def _context(one: Statement, planned: Planned) -> Iterable[dict[str, Any]]:
    """What a request that meets the statement's conditions has, for policies that ask for more than ours, too."""
    is_global = any(action.startswith(("iam:", "route53:")) for action in one.on) and one.sid != "Read"
    yield _entry("aws:RequestedRegion", ["us-east-1" if is_global else planned.client.region])
    for operator, keys in one.conditions.items():
        for key, wanted in keys.items():
            values = [text.replace("*", "example") for text in ([wanted] if isinstance(wanted, str) else wanted)]
            if operator == "Null":
                values = ["RunInstances" if key.endswith(":CreateAction") else "owned"]
            if operator.startswith("ForAllValues:"):
                yield _entry(key, values, "stringList")
            else:
                yield _entry(key, values[:1], "boolean" if operator == "Bool" else "string")
    if any(key.startswith("aws:RequestTag/") for keys in one.conditions.values() for key in keys):
        more = planned.settings.section.tags
        yield from (_entry(f"aws:RequestTag/{key}", [value]) for key, value in more.items())
        yield _entry("aws:TagKeys", sorted({*more, "Name", *planned.settings.owner.resource_tags}), "stringList")


def _entry(key: str, values: list[str], kind: str = "string") -> dict[str, Any]:
    return {"ContextKeyName": key, "ContextKeyValues": values, "ContextKeyType": kind}


def _example(arn: str, planned: Planned) -> str:
    """A resource that the pattern stands for."""
    if arn == "*":
        return arn
    head, region, account, path = arn.split(":", 5)[:3], *arn.split(":", 5)[3:]
    return ":".join([*head, region, account.replace("*", planned.identity.account), path.replace("*", "example")])


def _judge(judged: Judged, one: Statement, results: Sequence[Mapping[str, Any]], planned: Planned) -> None:
    """IAM was asked for all actions on all resources of the statement; only those that belong together count."""
    for result in results:
        action, arn = str(result["EvalActionName"]), str(result.get("EvalResourceName", "*"))
        if arn not in {_example(pattern, planned) for pattern in one.on.get(action, ())}:
            continue
        if result["EvalDecision"] == "allowed":
            judged.allowed.add(action)
        elif result.get("MissingContextValues"):
            judged.open.add(action)
        elif result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations") is False:
            judged.missing[action] = "a service control policy of the organization"
        elif result["EvalDecision"] == "explicitDeny":
            judged.missing[action] = "an explicit deny"
        else:
            judged.missing.setdefault(action, "no policy allows")


def _missing(planned: Planned, needed: Sequence[Statement], judged: Judged) -> list[Finding]:
    lacking = {action: why for action, why in judged.missing.items() if action not in CHECKS}
    if not lacking:
        only = sorted(judged.missing)
        return [note(CHECK, "checks before a run need more", _listed(only), POLICY)] if only else []
    reasons = sorted({why for why in lacking.values() if why not in ("no policy allows", _FIRST_OF_ALL)})
    cause = f"{planned.identity.arn} lacks {len(lacking)} of the actions that this inventory needs"
    denied = f"; denied by {' and '.join(reasons)}: a new policy does not change that" if reasons else ""
    return [error(CHECK, cause + denied, _listed(lacking), _grant(planned, needed, lacking))]


def _not_checked(unknown: set[str], refused: str, total: int) -> list[Finding]:
    """What reads is tried by the checks themselves, and by the look for what exists."""
    changing = {one for one in unknown if not one.partition(":")[2].startswith(_READING)}
    if not changing:
        return []
    why = refused or "they depend on conditions that IAM does not simulate"
    cause = f"{len(changing)} of {total} actions are not checked: {why}"
    return [note(CHECK, cause, _listed(changing, _SHOWN), POLICY)]


def _listed(actions: Iterable[str], most: int = 1000) -> str:
    """By service: `ec2: CreateVpc, RunInstances; iam: PassRole and 20 more`"""
    services: dict[str, list[str]] = {}
    for action in sorted(actions):
        service, _, name = action.partition(":")
        services.setdefault(service, []).append(name)
    shown = {
        service: ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")
        for service, found in services.items()
    }
    return "; ".join(f"{service}: {text}" for service, text in shown.items())


def _grant(planned: Planned, needed: Sequence[Statement], lacking: Iterable[str]) -> str:
    """Commands for an administrator, where a policy can be attached; else the statements that are missing."""
    kind, _, name = planned.identity.arn.rpartition(":")[2].partition("/")
    policy = f"talosmith-{planned.settings.owner.cluster}"
    arn = f"arn:{partition(planned.client.region)}:iam::{planned.identity.account}:policy/{policy}"
    name = name.split("/")[0] if kind == "assumed-role" else name.rpartition("/")[2]
    if kind not in ("user", "assumed-role") or name.startswith("AWSReservedSSO_"):
        statement = [one.document() for one in needed if set(one.on) & set(lacking)]
        text = json.dumps({"Version": "2012-10-17", "Statement": statement}, separators=(",", ":"))
        return f"add these statements to the permission set of the caller in IAM Identity Center:\n{text}"
    document = f"--policy-document file://{policy}.json"
    return "\n".join(
        [
            "as an administrator of the account, after a look at the policy:",
            f"talosmith render aws-policy > {policy}.json",
            f"aws iam create-policy --policy-name {policy} {document} || "
            f"aws iam create-policy-version --policy-arn {arn} {document} --set-as-default",
            f"aws iam attach-{'user' if kind == 'user' else 'role'}-policy "
            f"--{'user' if kind == 'user' else 'role'}-name {name} --policy-arn {arn}",
        ]
    )
