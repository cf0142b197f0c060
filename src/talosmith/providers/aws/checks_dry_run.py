"""Calls of EC2 that are judged as if they were carried out, and are not: `DryRun`.

Only what needs nothing that does not exist yet can be tried: EC2 looks for what a call names before it judges. A
launch is tried once there are a subnet and security groups: then it is the very call that the run will make.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.model.resources import ResourceKey
from talosmith.providers.aws import launch
from talosmith.providers.aws.checks_base import Planned
from talosmith.providers.aws.failures import Denied
from talosmith.providers.aws.instances import Instances
from talosmith.providers.aws.marks import as_tags, of_cluster
from talosmith.providers.aws.wanted import GATEWAY, VPC, Wanted, subnet

_WOULD_SUCCEED = "DryRunOperation"


async def dry_runs(planned: Planned) -> dict[str, bool]:
    """Actions, and whether they are allowed; what came to no answer is left out."""
    tried = await asyncio.gather(*(_tried(planned, *one) for one in _calls(planned)), _launch(planned))
    return {action: allowed for one in tried for action, allowed in one.items()}


def _calls(planned: Planned) -> list[tuple[str, dict[str, Any]]]:
    settings = planned.settings
    marks, section = settings.marks, settings.section
    key = ResourceKey("volume", "tried")
    volume = {"AvailabilityZone": section.azs[0], "Size": 1, "VolumeType": "gp3", "Encrypted": True}
    found: list[tuple[str, str, ResourceKey, dict[str, Any]]] = [("create_volume", "volume", key, volume)]
    if section.vpc_id is None:
        found.append(("create_vpc", "vpc", VPC, {"CidrBlock": str(section.vpc_cidr)}))
        found.append(("create_internet_gateway", "internet-gateway", GATEWAY, {}))
    else:
        named = {"GroupName": f"{marks.unique}-tried", "Description": "talosmith", "VpcId": section.vpc_id}
        found.append(("create_security_group", "security-group", ResourceKey("security-group", "tried"), named))
    if section.private and settings.makes_subnets:
        found.append(
            ("allocate_address", "elastic-ip", ResourceKey("nat-gateway", section.azs[0]), {"Domain": "vpc"})
        )
    return [(name, {**more, "TagSpecifications": marks.specification(kind, key)}) for name, kind, key, more in found]


async def _tried(planned: Planned, name: str, parameters: Mapping[str, Any]) -> dict[str, bool]:
    action = f"ec2:{''.join(part.capitalize() for part in name.split('_'))}"
    try:
        await planned.client.call("ec2", name, DryRun=True, **parameters)
    except Denied as refused:
        return {refused.action or action: False}
    except TalosmithError as said:
        return {action: True} if _WOULD_SUCCEED in str(said) else {}
    return {}


async def _launch(planned: Planned) -> dict[str, bool]:
    try:
        request = await _request(planned, planned.specs[0])
    except TalosmithError:
        return {}  # another check says why
    return await _tried(planned, "run_instances", request) if request else {}


async def _request(planned: Planned, spec: MachineSpec) -> dict[str, Any]:
    """Empty while there is nothing to launch into."""
    settings, filters = planned.settings, of_cluster(planned.settings.owner)
    given = settings.section.subnets.get(planned.zone(spec))
    subnets, groups, image = await asyncio.gather(
        planned.client.listed("ec2", "describe_subnets", "Subnets", Filters=filters),
        planned.client.listed("ec2", "describe_security_groups", "SecurityGroups", Filters=filters),
        planned.images.find(spec),
    )
    ids = {settings.marks.key_of(as_tags(one["Tags"])): one["SubnetId"] for one in subnets}
    ids |= {settings.marks.key_of(as_tags(one["Tags"])): one["GroupId"] for one in groups}
    place = given.id if given else ids.get(subnet(planned.zone(spec)), "")
    wanted = [ids.get(key, "") for key in Wanted(settings).groups_of(spec.role)]
    if image is None or not place or not all(wanted):
        return {}
    profile = Instances(planned.client, settings).profile(spec)
    return launch.request(settings, spec, None, image=image, subnet=place, groups=wanted, profile=profile)
