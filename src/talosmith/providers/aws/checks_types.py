"""What machines are made of: availability zones, instance types and images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from talosmith.providers.aws.checks_base import Found, Planned, error, names, note, ok, warning
from talosmith.providers.aws.failures import Credentials
from talosmith.providers.aws.images import ARCHITECTURE, ROOT, VENDOR
from talosmith.providers.aws.launch import gib
from talosmith.providers.base import Finding

_LEAST_MIB = {"controlplane": 2048, "worker": 1024}  # Talos' own minimum
_TYPE = "`aws.instance_type`, or `instance_type` of the node"


async def check_zones(planned: Planned) -> list[Finding]:
    section = planned.settings.section
    try:
        asked = await planned.client.call("ec2", "describe_availability_zones")
    except Credentials as refused:  # STS has accepted them
        return [
            error(
                "region", f"the region {section.region} is not enabled for the account {planned.identity.account}",
                str(refused),
                f"enable the region, which takes minutes, or correct `aws.region`:\n"
                f"aws account enable-region --region-name {section.region}",
            )
        ]  # fmt: skip
    there = {one["ZoneName"]: one for one in asked["AvailabilityZones"]}
    found = []
    for zone in section.azs:
        if zone not in there:
            evidence = f"the account {planned.identity.account} has: {', '.join(sorted(there)) or 'none'}"
            cause = f"{section.region} has no availability zone {zone} for this account"
            found.append(error("availability zones", cause, evidence, "correct `aws.azs`"))
        elif (state := there[zone].get("State", "available")) != "available":
            said = "; ".join(one.get("Message", "") for one in there[zone].get("Messages", ()))
            found.append(
                warning("availability zones", f"{zone} is {state}", said or zone, "set `aws.azs` to other zones")
            )
    return found or [ok("availability zones", ", ".join(section.azs))]


async def check_types(planned: Planned) -> list[Finding]:
    types = await instance_types(planned, planned.types)
    zones = sorted({planned.zone(spec) for spec in planned.specs})
    filters = [{"Name": "instance-type", "Values": planned.types}]
    listed = await planned.client.listed(
        "ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", LocationType="availability-zone",
        Filters=filters,
    )  # fmt: skip
    offered = {(one["InstanceType"], one["Location"]) for one in listed}
    found = [one for name in planned.types for one in _type(planned, name, types, offered)]
    return found or [ok("instance types", f"{', '.join(planned.types)} in {', '.join(zones)}")]


async def instance_types(planned: Planned, wanted: list[str]) -> dict[str, Found]:
    """By name; a filter leaves out what does not exist, a list of names is refused for it."""
    filters = [{"Name": "instance-type", "Values": wanted}]
    listed = await planned.client.listed("ec2", "describe_instance_types", "InstanceTypes", Filters=filters)
    return {one["InstanceType"]: one for one in listed}


def _type(planned: Planned, name: str, types: Mapping[str, Found], offered: set[tuple[str, str]]) -> list[Finding]:
    check, nodes, found = f"instance type {name}", planned.nodes_of(name), []
    if name not in types:
        cause = f"{planned.settings.section.region} has no instance type {name}"
        return [error(check, cause, f"for {names(nodes)}", f"correct {_TYPE}")]
    for zone in sorted({planned.zone(spec) for spec in nodes}):
        if (name, zone) not in offered:
            elsewhere = ", ".join(sorted(place for kind, place in offered if kind == name)) or "no other zone"
            here = [spec for spec in nodes if planned.zone(spec) == zone]
            cause = f"{zone} does not offer {name}, which {names(here)} needs"
            fix = f"set another {_TYPE}; or `az` of the node, or `aws.azs`, to a zone that offers {name}"
            found.append(error(check, cause, f"offered in: {elsewhere}", fix))
    possible = types[name]["ProcessorInfo"]["SupportedArchitectures"]
    wrong = [spec for spec in nodes if ARCHITECTURE[spec.arch] not in possible]
    if wrong:
        cause = f"{name} is {', '.join(possible)}, and {names(wrong)} is {wrong[0].arch}"
        other = next((ours for ours, theirs in ARCHITECTURE.items() if theirs in possible), "")
        fix = f"set another {_TYPE}" + (f"; or `arch: {other}`" if other else "")
        found.append(error(check, cause, f"`arch` of {names(wrong)}", fix))
    if name.startswith("t2."):
        cause = "Talos does not support t2 instances"
        found.append(warning(check, cause, f"for {names(nodes)}", f"set {_TYPE} to a t3 or newer one"))
    memory = int(types[name].get("MemoryInfo", {}).get("SizeInMiB", 0))
    small = [spec for spec in nodes if memory and memory < _LEAST_MIB[spec.role]]
    if small:
        least = _LEAST_MIB[small[0].role]
        cause = f"{name} has {memory} MiB of memory; Talos needs {least} for a {small[0].role}"
        found.append(warning(check, cause, f"for {names(small)}", f"set {_TYPE} to a larger one"))
    return found


async def check_images(planned: Planned) -> list[Finding]:
    given, found = planned.settings.section.ami, []
    for arch, version in sorted({(spec.arch, spec.talos_version) for spec in planned.specs}):
        specs = [spec for spec in planned.specs if (spec.arch, spec.talos_version) == (arch, version)]
        check = f"image {given or planned.images.name(specs[0])}"
        image = await planned.images.find(specs[0])
        if image is None:
            found.append(_no_image(planned, check))
            continue
        disks = [spec.disks_mib[0] for spec in specs if spec.disks_mib]
        wrong, shown = [*_image(check, image, arch, disks)], f"{image['ImageId']} {image.get('Name', '')}".strip()
        if not wrong and given and image.get("OwnerId") != VENDOR:
            cause = f"published by the account {image.get('OwnerId')}, not by Sidero Labs ({VENDOR})"
            fix = "leave `aws.ami` out to use the official image, unless this one is your own"
            wrong.append(note(check, cause, shown, fix))
        found += wrong or [ok(check, shown)]
    return list({(one.check, one.cause): one for one in found}.values())


def _no_image(planned: Planned, check: str) -> Finding:
    section = planned.settings.section
    if section.ami:
        cause = f"the image {section.ami} does not exist in {section.region}, or is not shared with the account"
        return error(check, cause, f"account {planned.identity.account}", "correct `aws.ami`, or leave it out")
    return error(
        check,
        f"Sidero Labs has published no such image in {section.region}",
        f"owner {VENDOR}",
        "correct `talos_version`, or set `aws.ami` to an image of your own in this region",
    )


def _image(check: str, image: Found, arch: str, disks_mib: Sequence[int]) -> Iterator[Finding]:
    """Published ones are looked for by architecture; a given one may not fit."""
    shown = f"{image['ImageId']} {image.get('Name', '')}".strip()
    has = str(image.get("Architecture", ARCHITECTURE[arch]))
    if has != ARCHITECTURE[arch]:
        yield error(check, f"the image is {has}, and nodes are {arch}", shown, "correct `aws.ami` or `arch`")
    if (state := image.get("State", "available")) != "available":
        fix = "wait until the image is available, or correct `aws.ami`"
        yield error(check, f"the image is {state}", shown, fix)
    if (root := image.get("RootDeviceName", ROOT)) != ROOT:
        cause = f"the root device of the image is {root}; talosmith sets the size of {ROOT}"
        yield error(check, cause, shown, f"register the image with the root device {ROOT}, as Talos' own have it")
    sizes = [int(one.get("Ebs", {}).get("VolumeSize", 0)) for one in image.get("BlockDeviceMappings", ())]
    smallest, needs = gib(min(disks_mib, default=0)), max(sizes, default=0)
    if disks_mib and smallest < needs:
        cause = f"the image has {needs} GiB, and the smallest disk {smallest} GiB"
        yield error(check, cause, shown, f"set `disk` to {needs}G or more")
