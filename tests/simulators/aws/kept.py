"""Everything that exists in the simulated AWS, as plain values: two snapshots are equal if nothing was left behind.

Terminated instances and deleted NAT gateways are still listed by AWS for an hour, and are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import images  # isort: skip
from moto.ec2.models import ec2_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends
from moto.route53.models import route53_backends

Kept = dict[str, Any]


def kept(accounts: Iterable[str]) -> Kept:
    """By account, region and kind; within these by id. What is empty is left out."""
    found: Kept = {}
    for account in sorted({*accounts, *ec2_backends, *iam_backends}):
        regions = {*images.REGIONS, *dict.keys(ec2_backends[account]), *dict.keys(elbv2_backends[account])}
        parts = {region: {**_ec2(account, region), **_elbv2(account, region)} for region in sorted(regions)}
        parts["global"] = {**_iam(account), **_route53(account)}
        found[account] = {name: _filled(part) for name, part in parts.items() if _filled(part)}
    return found


def _filled(part: Kept) -> Kept:
    return {name: values for name, values in part.items() if values}


def _ec2(account: str, region: str) -> Kept:
    backend: Any = ec2_backends[account][region]
    tags = backend.tags
    alive = [one for one in backend.all_instances() if one.state != "terminated"]
    return {
        "vpcs": {one.id: (one.cidr_block, _tags(tags, one.id)) for one in backend.vpcs.values()},
        "subnets": {
            one.id: (one.vpc_id, one.cidr_block, one.availability_zone, _flag(one), _tags(tags, one.id))
            for found in backend.subnets.values()
            for one in found.values()
        },
        "internet gateways": {
            one.id: (one.vpc.id if one.vpc else "", _tags(tags, one.id)) for one in backend.internet_gateways.values()
        },
        "route tables": {
            one.id: (one.vpc_id, _routes(one), sorted(one._associations.values()), _tags(tags, one.id))
            for one in backend.route_tables.values()
        },
        "NAT gateways": {
            one.id: (one.subnet_id, _tags(tags, one.id))
            for one in backend.nat_gateways.values()
            if one.state != "deleted"
        },
        "Elastic IPs": {
            one.allocation_id: (one.public_ip, one.association_id or "", _tags(tags, one.allocation_id))
            for one in backend.addresses
        },
        "security groups": {
            one.id: (one.name, one.vpc_id, _rules(one.ingress_rules), _rules(one.egress_rules), _tags(tags, one.id))
            for groups in backend.groups.values()
            for one in groups.values()
        },
        "instances": {
            one.id: (one.instance_type, one.state, one.image_id, one.subnet_id, one.private_ip, _tags(tags, one.id))
            for one in alive
        },
        "volumes": {
            one.id: (one.size, one.attachment.instance.id if one.attachment else "", _tags(tags, one.id))
            for one in backend.volumes.values()
        },
        "network interfaces": {
            one.id: (one.subnet.id, one.private_ip_address, _ids(one.group_set), one.description, _tags(tags, one.id))
            for one in backend.enis.values()
        },
        "key pairs": {name: _tags(tags, one.id) for name, one in backend.key_pairs.items()},
        "launch templates": {name: _tags(tags, name) for name in backend.launch_templates},
    }


def _flag(subnet: Any) -> str:
    return "public" if subnet.map_public_ip_on_launch in (True, "true") else ""


def _routes(table: Any) -> list[tuple[str, ...]]:
    found = []
    for route in table.routes:
        targets = (route.gateway, route.nat_gateway, route.instance, route.interface)
        found.append((str(route.destination_cidr_block), *(one.id for one in targets if one is not None)))
    return sorted(found)


def _ids(things: Iterable[Any]) -> list[str]:
    return sorted(one.id for one in things)


def _rules(rules: Iterable[Any]) -> list[str]:
    parts = [
        (rule.ip_protocol, rule.from_port, rule.to_port, rule.ip_range, rule.source_group, rule.prefix_list_id)
        for rule in rules
    ]
    return sorted(repr(one) for one in parts)


def _elbv2(account: str, region: str) -> Kept:
    backend: Any = elbv2_backends[account][region]
    tags = backend.tagging_service.get_tag_dict_for_resource
    return {
        "load balancers": {
            one.arn: (
                (one.name, one.scheme, _ids(one.subnets), sorted(one.security_groups or ())),
                sorted(one.attrs.items()),
                sorted(tags(one.arn).items()),
            )
            for one in backend.load_balancers.values()
        },
        "listeners": {
            listener.arn: (listener.port, listener.protocol, [action.data for action in listener.default_actions])
            for one in backend.load_balancers.values()
            for listener in one.listeners.values()
        },
        "target groups": {
            one.arn: (
                (one.name, one.port, one.vpc_id),
                sorted((name, str(target["Port"])) for name, target in one.targets.items()),
                sorted(one.attributes.items()),
                sorted(tags(one.arn).items()),
            )
            for one in backend.target_groups.values()
        },
    }


def _iam(account: str) -> Kept:
    if account not in iam_backends:
        return {}  # to create it is slow, and there is nothing in it
    backend: Any = iam_backends[account]["aws"]
    return {
        "roles": {
            one.name: (
                sorted(one.policies.items()),
                sorted(one.managed_policies),
                _listed(one.tags),
            )
            for one in backend.roles.values()
        },
        "instance profiles": {
            one.name: (sorted(role.name for role in one.roles), _listed(one.tags))
            for one in backend.instance_profiles.values()
        },
        "policies": {
            arn: one.default_version_id
            for arn, one in backend.managed_policies.items()
            if f"::{account}:policy/" in arn
        },
    }


def _route53(account: str) -> Kept:
    backend: Any = route53_backends[account]["aws"]
    return {
        "hosted zones": {zone.id: zone.name for zone in backend.zones.values()},
        "records": {
            f"{zone.id} {one.name} {one.type}": (one.ttl, repr(one.records), repr(one.alias_target))
            for zone in backend.zones.values()
            for one in zone.rrsets
        },
    }


def _tags(tags: Any, name: str) -> list[tuple[str, str]]:
    return sorted(tags.get(name, {}).items())


def _listed(tags: Any) -> list[str]:
    """IAM has them as a list or as a mapping."""
    return sorted(str(one) for one in (tags.items() if isinstance(tags, dict) else tags or ()))
