"""Calls that moto lacks, or answers in a way of its own: quotas, simulated policies, the caller's identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .backends import ec2_of, iam_of, serialized
from .calls import Call
from .errors import Answer, AwsError
from .hooks import before, instead
from .policy import Check, allowed, caller
from .resources import Resource

if TYPE_CHECKING:
    from .world import Cloud

_QUOTA_NAMES = {
    "L-1216C47A": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    "L-34B43A08": "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
    "L-0263D0A3": "EC2-VPC Elastic IPs",
    "L-F678F1CE": "VPCs per Region",
    "L-A4707A72": "Internet gateways per Region",
    "L-69A177A2": "Network Load Balancers per Region",
}


def _quota(call: Call, service: str, code: str, value: float) -> dict[str, Any]:
    return {
        "ServiceCode": service,
        "ServiceName": service,
        "QuotaArn": f"arn:aws:servicequotas:{call.region}:{call.account}:{service}/{code}",
        "QuotaCode": code,
        "QuotaName": _QUOTA_NAMES.get(code, code),
        "Value": value,
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }


@instead("service-quotas", "GetServiceQuota", "GetAWSDefaultServiceQuota")
def get_quota(cloud: Cloud, call: Call) -> Answer:
    key = (str(call.params["ServiceCode"]), str(call.params["QuotaCode"]))
    if key not in cloud.quotas:
        raise AwsError("NoSuchResourceException", "The request failed because the specified service does not exist.")
    return serialized(call, {"Quota": _quota(call, *key, cloud.quotas[key])})


@instead("service-quotas", "ListServiceQuotas", "ListAWSDefaultServiceQuotas")
def list_quotas(cloud: Cloud, call: Call) -> Answer:
    service = str(call.params["ServiceCode"])
    found = [_quota(call, *key, value) for key, value in cloud.quotas.items() if key[0] == service]
    return serialized(call, {"Quotas": found})


@before("ec2", "CreateVpc", "CreateInternetGateway", "AllocateAddress")
def check_quota(cloud: Cloud, call: Call) -> None:
    backend = ec2_of(call)
    key, code, taken = {
        "CreateVpc": (("vpc", "L-F678F1CE"), "VpcLimitExceeded", len(backend.vpcs)),
        "CreateInternetGateway": (
            ("vpc", "L-A4707A72"),
            "InternetGatewayLimitExceeded",
            len(backend.internet_gateways),
        ),
        "AllocateAddress": (("ec2", "L-0263D0A3"), "AddressLimitExceeded", len(backend.addresses)),
    }[call.action]
    if taken >= cloud.quotas[key]:
        name = {"VpcLimitExceeded": "VPCs", "AddressLimitExceeded": "addresses"}.get(code, "internet gateways")
        raise AwsError(code, f"The maximum number of {name} has been reached.")


@instead("iam", "SimulatePrincipalPolicy", "SimulateCustomPolicy")
def simulate(cloud: Cloud, call: Call) -> Answer:
    """As `deny` and `allow_only` would have it. Context entries are not looked at, except for tags."""
    arns = call.params.get("ResourceArns") or ["*"]
    context = {
        one["ContextKeyName"]: one["ContextKeyValues"][0]
        for one in call.params.get("ContextEntries", ())
        if one.get("ContextKeyValues")
    }
    tags = {key.partition("/")[2]: value for key, value in context.items() if ":ResourceTag/" in key}
    asked = {key.partition("/")[2]: value for key, value in context.items() if ":RequestTag/" in key}
    results = [
        {
            "EvalActionName": action,
            "EvalResourceName": arn,
            "EvalDecision": "allowed"
            if allowed(cloud, Check(action, Resource(arn, tags, asked), context))
            else "implicitDeny",
            "MatchedStatements": [],
            "MissingContextValues": [],
        }
        for action in call.params["ActionNames"]
        for arn in arns
    ]
    return serialized(call, {"EvaluationResults": results, "IsTruncated": False})


@instead("sts", "GetCallerIdentity")
def identity(cloud: Cloud, call: Call) -> Answer | None:
    if not call.key.startswith("AKIA"):
        return None  # moto knows the roles that were assumed
    return serialized(call, {"UserId": f"AIDA{call.account}USER", "Account": call.account, "Arn": caller(call)})


@instead("iam", "ListInstanceProfileTags")
def profile_tags(cloud: Cloud, call: Call) -> Answer:
    profile = iam_of(call).get_instance_profile(call.params["InstanceProfileName"])
    return serialized(call, {"Tags": _listed(profile.tags), "IsTruncated": False})


def _listed(tags: Any) -> list[dict[str, str]]:
    return tags if isinstance(tags, list) else list(tags.values())
