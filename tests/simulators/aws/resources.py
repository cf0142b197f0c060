"""The resources that a call is authorized on, as the Service Authorization Reference of AWS lists them.

What exists is named by its ARN and has its tags; what the call creates has an ARN with a wildcard, and the tags that
the request gives to it. Calls of EC2 and ELB that only read have no resource but `*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .backends import ec2_of, elbv2_of, iam_of
from .calls import Call

_TYPES = {
    "i": "instance", "vol": "volume", "sg": "security-group", "subnet": "subnet", "vpc": "vpc",
    "igw": "internet-gateway", "rtb": "route-table", "nat": "natgateway", "eipalloc": "elastic-ip",
    "eni": "network-interface", "ami": "image",
}  # fmt: skip
CREATED = {
    "RunInstances": ("instance", "volume", "network-interface"),
    "CreateVpc": ("vpc",),
    "CreateSubnet": ("subnet",),
    "CreateSecurityGroup": ("security-group",),
    "CreateInternetGateway": ("internet-gateway",),
    "CreateRouteTable": ("route-table",),
    "CreateNatGateway": ("natgateway",),
    "AllocateAddress": ("elastic-ip",),
    "CreateVolume": ("volume",),
}
_TAGS = ("TagSpecifications", "Tags", "UserData", "ClientToken")  # what is in there is no resource
_GROUP_RULES = ("AuthorizeSecurityGroup", "RevokeSecurityGroup", "ModifySecurityGroupRules")
_ELB_CREATED = {"CreateLoadBalancer": "loadbalancer/net/{Name}/*", "CreateTargetGroup": "targetgroup/{Name}/*"}
_IAM_KINDS = {"RoleName": "role", "InstanceProfileName": "instance-profile", "PolicyName": "policy"}


@dataclass(frozen=True)
class Resource:
    arn: str
    tags: Mapping[str, str] = field(default_factory=dict)
    request_tags: Mapping[str, str] = field(default_factory=dict)


def resources(call: Call) -> list[Resource]:
    found: list[Resource] = []
    changes = call.mutating or call.dry_run
    if call.service == "ec2" and changes:
        found = [*_existing(call), *_created(call)]
    elif call.service == "elbv2" and changes:
        found = _balancing(call)
    elif call.service == "iam":
        found = _identities(call)
    elif call.service == "route53":
        found = _zones(call)
    return found or [Resource("*")]


def tagged_on_creation(call: Call) -> list[Resource]:
    """What a call tags while it creates it: to do so is an action of its own."""
    if (call.service, call.action) == ("elbv2", "CreateListener"):
        name = str(call.params["LoadBalancerArn"]).replace(":loadbalancer/", ":listener/")
        return [Resource(f"{name}/*", {}, tags_of(call.params.get("Tags")))] if call.params.get("Tags") else []
    if call.service == "ec2":
        return [one for one in (*_created(call), *_tagged_rules(call)) if one.request_tags]
    creates = call.action in _ELB_CREATED or (call.service == "iam" and call.action.startswith("Create"))
    return [one for one in resources(call) if one.request_tags] if creates else []


def tags_of(given: Any) -> dict[str, str]:
    return {str(one["Key"]): str(one.get("Value", "")) for one in given or ()}


# EC2


def _arn(call: Call, kind: str, name: str) -> str:
    account = "" if kind == "image" else call.account
    return f"arn:aws:ec2:{call.region}:{account}:{kind}/{name}"


def _existing(call: Call) -> list[Resource]:
    tags = ec2_of(call).tags
    asked = tags_of(call.params.get("Tags")) if call.action == "CreateTags" else {}
    found = []
    for name in sorted(_named(call)):
        kind = _TYPES.get(name.partition("-")[0])
        if kind and "-" in name and " " not in name:
            found.append(Resource(_arn(call, kind, name), dict(tags.get(name, {})), asked))
    return found


def _named(call: Call) -> set[str]:
    """Ids of resources in a request. A route's target and the source of a rule are none that it is authorized on."""
    params = {key: value for key, value in call.params.items() if key not in _TAGS}
    if call.action.startswith(_GROUP_RULES):
        params = {"GroupId": params.get("GroupId", "")}
    elif call.action in ("CreateRoute", "ReplaceRoute", "DeleteRoute"):
        params = {"RouteTableId": params.get("RouteTableId", "")}
    found = Call(call.service, call.action, params).mentioned
    association = str(params.get("AssociationId", ""))
    for table in ec2_of(call).route_tables.values():
        if association in table._associations:
            found |= {table.id, table._associations[association]}
    return found | {
        one.allocation_id for one in ec2_of(call).addresses if association and one.association_id == association
    }


def _created(call: Call) -> list[Resource]:
    kinds = list(CREATED.get(call.action, ()))
    if call.params.get("InstanceMarketOptions", {}).get("MarketType") == "spot":
        kinds.append("spot-instances-request")
    return [Resource(_arn(call, kind, "*"), {}, _asked(call).get(kind, {})) for kind in kinds]


def _tagged_rules(call: Call) -> list[Resource]:
    found = _asked(call).get("security-group-rule", {})
    return [Resource(_arn(call, "security-group-rule", "*"), {}, found)]


def _asked(call: Call) -> dict[str, dict[str, str]]:
    return {one["ResourceType"]: tags_of(one["Tags"]) for one in call.params.get("TagSpecifications", ())}


# Others


def _balancing(call: Call) -> list[Resource]:
    known, asked = elbv2_of(call).tagging_service, tags_of(call.params.get("Tags"))
    arns = [one for one in sorted(call.mentioned) if one.startswith("arn:aws:elasticloadbalancing:")]
    if call.action in ("CreateListener", "ModifyListener"):  # forwarding to a target group is not authorized on it
        arns = [one for one in arns if ":targetgroup/" not in one]
    found = [Resource(one, known.get_tag_dict_for_resource(one), asked) for one in arns]
    if call.action in _ELB_CREATED:
        path = _ELB_CREATED[call.action].format(Name=call.params["Name"])
        found.append(Resource(f"arn:aws:elasticloadbalancing:{call.region}:{call.account}:{path}", {}, asked))
    return found


def _identities(call: Call) -> list[Resource]:
    backend, asked = iam_of(call), tags_of(call.params.get("Tags"))
    known = {"role": backend.roles, "instance-profile": backend.instance_profiles, "policy": {}}
    found = []
    for key, kind in _IAM_KINDS.items():
        inside = {"InstanceProfileName", "RoleName"} & call.params.keys()
        if key not in call.params or (key == "PolicyName" and inside):  # an inline policy
            continue
        if key == "RoleName" and "InstanceProfileName" in call.params:  # the role is passed
            continue
        name = str(call.params[key])
        thing = next((one for one in known[kind].values() if one.name == name), None)
        arn = thing.arn if thing else f"arn:aws:iam::{call.account}:{kind}{call.params.get('Path', '/')}{name}"
        found.append(Resource(arn, _iam_tags(thing), asked))
    if "PolicyArn" in call.params and not found:
        found = [Resource(str(call.params["PolicyArn"]))]
    return found


def _iam_tags(thing: Any) -> dict[str, str]:
    tags = getattr(thing, "tags", None) or ()
    return tags_of(tags.values() if isinstance(tags, dict) else tags)


def _zones(call: Call) -> list[Resource]:
    name = str(call.params.get("HostedZoneId", call.params.get("Id", ""))).rpartition("/")[2]
    kind = "change" if call.action == "GetChange" else "hostedzone"
    return [Resource(f"arn:aws:route53:::{kind}/{name}")] if name else []
