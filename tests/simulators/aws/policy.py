"""Authorization: is a call allowed by the policy that a test has given to all users?

Each resource of a call (`resources.py`) is judged, as AWS does, and so are the tags that it gives to what it creates
and the role that it passes to EC2. Evaluated: Action, NotAction and Resource with wildcards, Effect, and the
conditions in `conditions.py`. Not evaluated: Principal, NotResource, policy variables, boundaries, service control
policies, session policies, the policies of users and roles in IAM, and service-linked roles. Snapshots, key pairs and
placement groups are no resources here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .backends import iam_of
from .calls import Call
from .conditions import holds
from .errors import JSON_SERVICES, AwsError
from .resources import Resource, resources, tagged_on_creation

if TYPE_CHECKING:
    from .world import Cloud

_ALWAYS = frozenset({"sts:GetCallerIdentity", "sts:GetSessionToken"})
_TAGGING = {
    "ec2": "ec2:CreateTags",
    "elbv2": "elasticloadbalancing:AddTags",
    "iam:CreateRole": "iam:TagRole",
    "iam:CreateInstanceProfile": "iam:TagInstanceProfile",
    "iam:CreatePolicy": "iam:TagPolicy",
}


@dataclass(frozen=True)
class Check:
    """One action on one resource."""

    action: str
    resource: Resource
    context: Mapping[str, str]


def authorize(cloud: Cloud, call: Call) -> None:
    for check in checks(call):
        if not allowed(cloud, check):
            raise refusal(call, check)


def refusal(call: Call, check: Check) -> AwsError:
    text = (
        f"User: {caller(call)} is not authorized to perform: {check.action} on resource: {check.resource.arn} because"
        f" no identity-based policy allows the {check.action} action"
    )
    if call.service == "ec2":
        return AwsError("UnauthorizedOperation", f"You are not authorized to perform this operation. {text}", 403)
    if call.service in JSON_SERVICES:
        return AwsError("AccessDeniedException", text, 400)
    return AwsError("AccessDenied", text, 403)


def caller(call: Call) -> str:
    return f"arn:aws:iam::{call.account}:user/talosmith"


def allowed(cloud: Cloud, check: Check) -> bool:
    if check.action in _ALWAYS:
        return True
    if any(fnmatchcase(check.action.lower(), pattern.lower()) for pattern in cloud.denied):
        return False
    if cloud.policy is None:
        return True
    matching = {str(one["Effect"]) for one in _list(cloud.policy["Statement"]) if _matches(one, check)}
    return "Allow" in matching and "Deny" not in matching


def _matches(statement: Mapping[str, Any], check: Check) -> bool:
    wanted = [str(one).lower() for one in _list(statement.get("Action", statement.get("NotAction")))]
    named = any(fnmatchcase(check.action.lower(), pattern) for pattern in wanted)
    if named is ("Action" not in statement):
        return False
    if not any(one == "*" or _arn_matches(check.resource.arn, str(one)) for one in _list(statement["Resource"])):
        return False
    resource = check.resource
    return holds(statement.get("Condition", {}), resource.tags, resource.request_tags, check.context)


def _arn_matches(arn: str, pattern: str) -> bool:
    """An ARN with a wildcard of its own stands for what the call is about to create."""
    return fnmatchcase(arn, pattern) or (arn.endswith("*") and fnmatchcase(pattern, arn))


def checks(call: Call) -> list[Check]:
    """All that has to be allowed for a call."""
    found = [Check(call.iam_action, one, _context(call)) for one in resources(call)]
    tagging = _TAGGING.get(call.service) or _TAGGING.get(call.iam_action, "")
    context = {**_context(call), f"{call.iam_action.partition(':')[0]}:CreateAction": call.action}
    found += [Check(tagging, one, context) for one in tagged_on_creation(call)]
    return found + [Check("iam:PassRole", Resource(role), _passing(call)) for role in _passed_roles(call)]


def _passed_roles(call: Call) -> list[str]:
    if call.iam_action == "iam:AddRoleToInstanceProfile":
        known = [one.arn for one in iam_of(call).roles.values() if one.name == call.params["RoleName"]]
        return known or [f"arn:aws:iam::{call.account}:role/{call.params['RoleName']}"]
    if call.iam_action == "ec2:RunInstances" and "IamInstanceProfile" in call.params:
        given = call.params["IamInstanceProfile"]
        name = given.get("Name") or str(given.get("Arn", "")).rpartition("/")[2]
        profiles = [one for one in iam_of(call).instance_profiles.values() if one.name == name]
        return [role.arn for profile in profiles for role in profile.roles]
    return []


def _context(call: Call) -> dict[str, str]:
    return {"aws:RequestedRegion": call.region, "aws:PrincipalAccount": call.account}


def _passing(call: Call) -> dict[str, str]:
    return {**_context(call), "iam:PassedToService": "ec2.amazonaws.com"}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
