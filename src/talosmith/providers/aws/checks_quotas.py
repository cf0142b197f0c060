"""Quotas of the account, against what is in use and what is to be created.

Without a look AWS refuses the launch that is one too many, in the middle of a run.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from talosmith.providers.aws.checks_base import Found, Planned, error, failed, ok
from talosmith.providers.aws.checks_types import instance_types
from talosmith.providers.aws.failures import Denied, Gone
from talosmith.providers.aws.launch import is_spot
from talosmith.providers.aws.marks import as_tags
from talosmith.providers.base import Finding

# The families that the quota of standard instances counts; g, p, x and others have their own.
_STANDARD = re.compile(r"(a|c|d|h|i|im|is|m|r|t|z)\d")


@dataclass(frozen=True, slots=True)
class Quota:
    check: str
    service: str
    code: str
    unit: str


ON_DEMAND = Quota("quota of on-demand vCPUs", "ec2", "L-1216C47A", "vCPUs")
SPOT = Quota("quota of spot vCPUs", "ec2", "L-34B43A08", "vCPUs")
VPCS = Quota("quota of VPCs", "vpc", "L-F678F1CE", "VPCs")
GATEWAYS = Quota("quota of internet gateways", "vpc", "L-A4707A72", "internet gateways")
ADDRESSES = Quota("quota of Elastic IPs", "ec2", "L-0263D0A3", "Elastic IPs")
BALANCERS = Quota("quota of Network Load Balancers", "elasticloadbalancing", "L-69A177A2", "Network Load Balancers")


@dataclass(frozen=True, slots=True)
class Use:
    """How many there are, and how many more are wanted."""

    used: int
    wanted: int


async def check_quotas(planned: Planned) -> list[Finding]:
    section = planned.settings.section
    work: list[tuple[Quota, Callable[[Planned], Awaitable[Use]]]] = [(BALANCERS, _balancers)]
    if section.vpc_id is None:
        work += [(VPCS, _vpcs), (GATEWAYS, _gateways)]
    if section.private and planned.settings.makes_subnets:
        work.append((ADDRESSES, _addresses))
    one_by_one = [_checked(planned, quota, use(planned)) for quota, use in work]
    *found, machines = await asyncio.gather(*one_by_one, _machines(planned))
    return _without_repeats([*machines, *(one for many in found for one in many)])


async def _checked(planned: Planned, quota: Quota, work: Awaitable[Use]) -> list[Finding]:
    try:
        use = await work
        if not use.wanted:
            return []
        asked = await planned.client.call(
            "service-quotas", "get_service_quota", ServiceCode=quota.service, QuotaCode=quota.code
        )
    except Denied as refused:
        which = "quotas" if refused.action.startswith("servicequotas:") else quota.check
        return [failed(which, refused, planned.client.region)]
    except Gone:
        return []  # the region has no such quota
    limit = int(asked["Quota"]["Value"])
    evidence = f"{use.used} of {limit} {quota.unit} in use, {use.wanted} more wanted"
    if use.used + use.wanted <= limit:
        return [ok(quota.check, evidence)]
    cause = f"the account {planned.identity.account} has a quota of {limit} {quota.unit} in {planned.client.region}"
    least = use.used + use.wanted
    fix = (
        f"delete what is not used, or request a higher quota ({quota.code}), which takes minutes to days:\n"
        f"aws service-quotas request-service-quota-increase --region {planned.client.region} "
        f"--service-code {quota.service} --quota-code {quota.code} --desired-value {least}"
    )
    return [error(quota.check, cause, evidence, fix)]


async def _machines(planned: Planned) -> list[Finding]:
    """Each kind of instance, by one look at what runs in the region, whichever cluster or owner has it."""
    try:
        uses = await _vcpus(planned)
    except Denied as refused:
        return [failed(ON_DEMAND.check, refused, planned.client.region)]
    found = await asyncio.gather(*(_checked(planned, quota, _known(use)) for quota, use in uses.items()))
    return [one for many in found for one in many]


async def _vcpus(planned: Planned) -> dict[Quota, Use]:
    running = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    listed = await planned.client.listed("ec2", "describe_instances", "Reservations", Filters=running)
    there = [one for group in listed for one in group["Instances"]]
    names = {*planned.types, *(one["InstanceType"] for one in there)}
    types = await instance_types(planned, sorted(name for name in names if _STANDARD.match(name)))
    found = {}
    for quota, spot in ((ON_DEMAND, False), (SPOT, True)):
        wanted = [spec for spec in planned.specs if is_spot(planned.settings, spec) is spot]
        used = [one["InstanceType"] for one in there if (one.get("InstanceLifecycle") == "spot") is spot]
        more = [planned.settings.instance_type(spec) for spec in wanted]
        found[quota] = Use(_cpus(used, types), _cpus(more, types))
    return found


async def _known(use: Use) -> Use:
    return use


def _cpus(names: list[str], types: dict[str, Found]) -> int:
    return sum(int(types[name]["VCpuInfo"]["DefaultVCpus"]) for name in names if name in types)


async def _vpcs(planned: Planned) -> Use:
    there = await planned.client.listed("ec2", "describe_vpcs", "Vpcs")
    return Use(len(there), 0 if any(_ours(planned, one) for one in there) else 1)


async def _gateways(planned: Planned) -> Use:
    there = await planned.client.listed("ec2", "describe_internet_gateways", "InternetGateways")
    return Use(len(there), 0 if any(_ours(planned, one) for one in there) else 1)


async def _addresses(planned: Planned) -> Use:
    section = planned.settings.section
    asked = await planned.client.call("ec2", "describe_addresses")
    ours = sum(_ours(planned, one) for one in asked["Addresses"])
    wanted = len(section.azs) if section.nat_gateways == "each-az" else 1
    return Use(len(asked["Addresses"]), max(0, wanted - ours))


async def _balancers(planned: Planned) -> Use:
    there = await planned.client.listed("elbv2", "describe_load_balancers", "LoadBalancers")
    network = [one for one in there if one["Type"] == "network"]
    ours = any(one["LoadBalancerName"] == planned.settings.marks.unique for one in network)
    return Use(len(network), 0 if ours else 1)


def _ours(planned: Planned, thing: Found) -> bool:
    return planned.settings.owner.owns(as_tags(thing.get("Tags", ())))


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """A refusal is the same for all quotas."""
    return list({(one.check, one.cause): one for one in findings}.values())
