"""What the caller must be allowed to do in AWS for this inventory, as an IAM policy: pure, without any call.

Each call of the provider has its action here; a test compares both. What is created must carry the cluster's id as a
tag, and only what carries it can be changed or deleted: the policy does not reach the rest of the account. IAM and
load balancers are limited by their names, which have the id, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from talosmith.model.machines import ID_TAG
from talosmith.providers.aws import actions
from talosmith.providers.aws.actions import Kinds
from talosmith.providers.aws.policies import document_of, managed, partition
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.statement import Conditions, Statement, single

LIMIT = 6144  # characters of a managed policy, white space not counted

_LINKED = {
    "elasticloadbalancing.amazonaws.com": "AWSServiceRoleForElasticLoadBalancing",
    "spot.amazonaws.com": "AWSServiceRoleForEC2Spot",
}


def needed_actions(settings: AwsSettings) -> frozenset[str]:
    """As policies name them: `ec2:RunInstances`."""
    return frozenset(action for one in statements(settings) for action in one.on)


def policy(settings: AwsSettings) -> dict[str, Any]:
    """Each action by its name, unless a managed policy has too few characters for that."""
    for short in (False, True):
        found = [one.document(short=short) for one in statements(settings)]
        document = {"Version": "2012-10-17", "Statement": found}
        if len(json.dumps(document, separators=(",", ":"))) < LIMIT:
            break
    return document


def statements(settings: AwsSettings) -> list[Statement]:
    parts = (_reading, _machines, _balancing, _kubernetes, _roles, _others)
    return [one for part in parts for one in part(settings)]


def _reading(settings: AwsSettings) -> Iterator[Statement]:
    private = settings.section.private and settings.makes_subnets
    record = actions.READS_RECORD if settings.record else ()
    found = (*actions.READS, *(actions.READS_NAT if private else ()), *record)
    yield Statement("Read", dict.fromkeys(found, ("*",)))


def _machines(settings: AwsSettings) -> Iterator[Statement]:
    """EC2, limited by tags."""
    section, everything = settings.section, _arn(settings, "ec2", "*")
    creates, changes = {**actions.MACHINES, **actions.GROUPS}, _merged(actions.MACHINES_CHANGE, actions.GROUPS_CHANGE)
    if section.vpc_id is None:
        creates, changes = creates | actions.VPC, _merged(changes, actions.VPC_CHANGE)
    if settings.makes_subnets:
        creates, changes = creates | actions.SUBNETS, _merged(changes, actions.SUBNETS_CHANGE)
        changes = _merged(changes, actions.MAIN_TABLE) if section.vpc_id is None else changes
        if section.private or section.vpc_id is not None:
            creates, changes = creates | actions.TABLES, _merged(changes, actions.TABLES_CHANGE)
        if section.private:
            creates, changes = creates | actions.NAT, _merged(changes, actions.NAT_CHANGE)
    inside = dict.fromkeys(sorted(actions.IN_VPC & creates.keys()), ("vpc",))
    if section.vpc_id is None:
        changes = _merged(changes, inside)
    asked, owned = _tagged(settings, "aws:RequestTag"), _tagged(settings, "aws:ResourceTag")
    yield Statement("Create", _on_ec2(settings, creates), asked, (everything,))
    yield Statement(
        "TagCreated",
        {"ec2:CreateTags": tuple(sorted({arn for many in _on_ec2(settings, creates).values() for arn in many}))},
        _both(asked, {"Null": {"ec2:CreateAction": "false"}}),
        (everything,),
    )
    yield Statement("ChangeOwn", _on_ec2(settings, changes), owned, (everything,))
    launched = [_arn(settings, "ec2", "image/*", account="")]
    launched += [_arn(settings, "ec2", "spot-instances-request/*")] if section.spot else []
    launched += sorted(_arn(settings, "ec2", f"subnet/{one.id}") for one in section.subnets.values())
    yield Statement("Launch", {"ec2:RunInstances": tuple(launched)})
    if section.vpc_id is not None:
        vpc = _arn(settings, "ec2", f"vpc/{section.vpc_id}")
        yield Statement("InVpc", {f"ec2:{action}": (vpc,) for action in inside})
    elif settings.makes_subnets:  # a VPC's own table exists without tags
        yield Statement("TagMainTable", {"ec2:CreateTags": (_arn(settings, "ec2", "route-table/*"),)}, asked)


def _balancing(settings: AwsSettings) -> Iterator[Statement]:
    name = settings.marks.unique
    kinds = {
        "balancer": f"loadbalancer/net/{name}/*",
        "listener": f"listener/net/{name}/*",
        "group": f"targetgroup/{name}-*",
    }
    arns = {kind: _arn(settings, "elasticloadbalancing", path) for kind, path in kinds.items()}
    yield Statement(
        "Balance",
        {f"elasticloadbalancing:{action}": tuple(arns[one] for one in on) for action, on in actions.BALANCER.items()},
    )


def _kubernetes(settings: AwsSettings) -> Iterator[Statement]:
    """Left out without the cluster's id: the condition names a tag, and the name of a tag cannot have a wildcard."""
    if "*" in settings.owner.id:
        return
    owned: Conditions = {"Null": {f"aws:ResourceTag/{settings.marks.kubernetes_tag}": "false"}}
    balancing = {
        f"elasticloadbalancing:{action}": tuple(_arn(settings, "elasticloadbalancing", f"{one}/*") for one in on)
        for action, on in actions.KUBERNETES_BALANCER.items()
    }
    everything = tuple(_arn(settings, service, "*") for service in ("ec2", "elasticloadbalancing"))
    on = {**_on_ec2(settings, actions.KUBERNETES), **balancing}
    yield Statement("Kubernetes", on, owned, everything)


def _roles(settings: AwsSettings) -> Iterator[Statement]:
    names = {role: settings.policies(role) for role in ("controlplane", "worker")}
    if not any(names.values()):
        return
    own = any(document_of(name, settings.group(role)) for role, many in names.items() for name in many)
    arns = {
        kind: _arn(settings, "iam", f"{kind}{settings.marks.path}*", region="")
        for kind in ("role", "instance-profile", "policy")
    }
    calls = actions.ROLES | (actions.OWN_POLICIES if own else {})
    yield Statement("Roles", {f"iam:{action}": tuple(arns[one] for one in on) for action, on in calls.items()})
    attached = {
        managed(name, settings.section.region)
        for role, many in names.items()
        for name in many
        if not document_of(name, settings.group(role))
    }
    which = sorted({*attached, *([arns["policy"]] if own else [])})
    yield Statement(
        "Attach", {"iam:AttachRolePolicy": (arns["role"],)}, {"ArnLike": {"iam:PolicyARN": single(which)}}
    )
    passed: Conditions = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    yield Statement("Pass", {"iam:PassRole": (arns["role"],)}, passed)


def _others(settings: AwsSettings) -> Iterator[Statement]:
    """Roles of AWS' own services, which the first use of a service creates; the DNS record; a given key."""
    services = ["elasticloadbalancing.amazonaws.com", *(["spot.amazonaws.com"] if settings.section.spot else [])]
    linked = tuple(
        _arn(settings, "iam", f"role/aws-service-role/{one}/{_LINKED[one]}", region="") for one in services
    )
    named: Conditions = {"StringEquals": {"iam:AWSServiceName": single(services)}}
    yield Statement("ServiceRoles", {"iam:CreateServiceLinkedRole": linked}, named)
    if settings.record:
        given = settings.section.hosted_zone or ""
        zone = given if given.startswith("Z") and "." not in given else "*"
        arn = f"arn:{partition(settings.section.region)}:route53:::hostedzone/{zone}"
        conditions: Conditions = {
            "ForAllValues:StringLike": {
                "route53:ChangeResourceRecordSetsNormalizedRecordNames": f"{settings.record.partition('.')[0]}.*",
                "route53:ChangeResourceRecordSetsRecordTypes": "A",
            }
        }
        yield Statement("Record", {"route53:ChangeResourceRecordSets": (arn,)}, conditions)
    if key := settings.section.kms_key:
        yield from _encrypting(settings, key)


def _encrypting(settings: AwsSettings, key: str) -> Iterator[Statement]:
    """EC2 encrypts disks with a given key on behalf of the caller; an alias is no resource of a policy."""
    arn = key if key.startswith("arn:") and ":key/" in key else _arn(settings, "kms", f"key/{key}")
    arn = _arn(settings, "kms", "key/*") if "alias/" in key else arn
    service = f"ec2.{settings.section.region}.amazonaws.com"
    calls = ("Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo")
    via: Conditions = {"StringEquals": {"kms:ViaService": service}}
    yield Statement("Encrypt", {f"kms:{action}": (arn,) for action in calls}, via)
    granted: Conditions = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    yield Statement("EncryptGrant", {"kms:CreateGrant": (arn,)}, _both(via, granted))


def _arn(
    settings: AwsSettings, service: str, path: str, *, region: str | None = None, account: str | None = None
) -> str:
    section = settings.section
    region = section.region if region is None else region
    account = (section.account_id or "*") if account is None else account
    return f"arn:{partition(section.region)}:{service}:{region}:{account}:{path}"


def _on_ec2(settings: AwsSettings, calls: Mapping[str, Kinds]) -> dict[str, tuple[str, ...]]:
    return {
        f"ec2:{action}": tuple(_arn(settings, "ec2", f"{kind}/*") for kind in kinds)
        for action, kinds in calls.items()
    }


def _tagged(settings: AwsSettings, key: str) -> Conditions:
    """`*` stands for an id that is not known."""
    operator = "StringLike" if "*" in settings.owner.id else "StringEquals"
    return {operator: {f"{key}/{ID_TAG}": settings.owner.id}}


def _both(one: Conditions, other: Conditions) -> Conditions:
    return {operator: {**one.get(operator, {}), **other.get(operator, {})} for operator in {**one, **other}}


def _merged(one: Mapping[str, Kinds], other: Mapping[str, Kinds]) -> dict[str, Kinds]:
    """With the kinds of both, where both have an action."""
    return {action: tuple(sorted({*one.get(action, ()), *other.get(action, ())})) for action in {**one, **other}}
