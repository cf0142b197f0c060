"""Rules for the block `aws`: networks, zones, instance types, and settings that need each other or have no effect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.parse import Path
from talosmith.model.providers import Aws

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

Rule = Callable[[Layout[Aws], "Resolved"], Iterator[Finding]]

PREFIXES = range(16, 25)
MOST_PRIVATE = 8
API_PORT = 6443
_GRAVITON = re.compile(r"a1\.|[a-z]+\d+[a-z]*g[a-z]*[.-]")  # m7g, c6gn, r6gd, g5g: a `g` after the generation


def can_be_laid_out(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section, network = layout.section, resolved.inventory.network
    if section.vpc_cidr.version != 4 or (section.vpc_cidr.prefixlen not in PREFIXES and not section.subnets):
        what = f"a VPC of {section.vpc_cidr} cannot be divided"
        yield error(("aws", "vpc_cidr"), what, "each zone gets a sixteenth, of at least /28", "use /16 to /24")
    if network.node_cidr is not None:
        yield error(("network", "node_cidr"), "on AWS the nodes' network is `aws.vpc_cidr`", fix="remove `node_cidr`")
    if network.vip is not None:
        what = "a VIP does not work on AWS"
        yield error(("network", "vip"), what, "the network does not carry it", "the load balancer takes its place")
    for index, zone in enumerate(section.azs):
        if not zone.startswith(section.region):
            yield error(("aws", "azs", index), f"`{zone}` is not a zone of {section.region}")
        if zone in section.azs[:index]:
            yield error(("aws", "azs", index), f"`{zone}` is listed twice")
    if section.private and len(section.azs) > MOST_PRIVATE and not section.subnets:
        what = f"{len(section.azs)} zones with private subnets"
        yield error(
            ("aws", "azs"), what, "each zone has a private and a public sixteenth of the VPC", "8 zones at most"
        )


def existing_network_fits(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section, seen = layout.section, set[str]()
    if section.subnets and section.vpc_id is None:
        yield error(("aws", "subnets"), "existing subnets without their VPC", fix="set `aws.vpc_id`")
    for zone, subnet in section.subnets.items():
        if zone not in section.azs:
            yield error(("aws", "subnets", zone), f"`{zone}` is not in `aws.azs`")
        elif subnet.cidr.version != section.vpc_cidr.version or not subnet.cidr.subnet_of(section.vpc_cidr):  # type: ignore[arg-type]
            what = f"{subnet.cidr} is not a part of {section.vpc_cidr}"
            yield error(("aws", "subnets", zone, "cidr"), what, fix="set `aws.vpc_cidr` to that of the VPC")
        if subnet.id in seen:
            why = "a subnet is in one availability zone"
            yield error(("aws", "subnets", zone, "id"), f"`{subnet.id}` is listed twice", why)
        seen.add(subnet.id)
    if section.subnets and (missing := [zone for zone in section.azs if zone not in section.subnets]):
        yield error(("aws", "subnets"), f"no subnet for {', '.join(missing)}", fix="give one for each of `azs`")


def reachable(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    for index, network in enumerate(section.admin_cidrs):
        if network.prefixlen == 0:
            what, why = f"{network} is the whole internet", "the Talos and Kubernetes APIs answer to all of it"
            yield warning(("aws", "admin_cidrs", index), what, why, "give the networks of your own")
    if section.reach == "public" and section.private:
        yield error(("aws", "reach"), "private nodes have no public addresses", fix="leave `reach` out")
    if section.private and section.subnets and not section.balancer.internal:
        why = "nodes and load balancer are in the subnets of `aws.subnets`, which have no route from the internet"
        fix = "set `balancer.internal: true`; or leave `subnets` out: talosmith creates private and public ones"
        yield error(("aws", "private"), "a public load balancer in private subnets", why, fix)
    if section.balancer.internal and section.reaches_public:
        why = "`up` and `health` ask the Kubernetes API at the load balancer"
        fix = "run talosmith inside the VPC, or in a network with a route to it, and set `aws.reach: private`"
        yield warning(
            ("aws", "balancer", "internal"), "the load balancer is reachable from inside the VPC only", why, fix
        )


def api_is_named(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section, port = layout.section, resolved.cluster.endpoint.port
    if section.hosted_zone and not section.domain:
        what = "a hosted zone without a domain gets no record"
        yield error(("aws", "hosted_zone"), what, fix="set `aws.domain`, or leave `hosted_zone` out")
    elif section.hosted_zone and section.domain and "." in section.hosted_zone:  # else it is an id
        record = f"k8s.{section.domain}"
        if not f".{record}".endswith(f".{section.hosted_zone}"):
            what = f"{record} is not a name of the zone {section.hosted_zone}"
            fix = "set the zone of `aws.domain`, or leave `hosted_zone` out: it is looked for"
            yield error(("aws", "hosted_zone"), what, "Route 53 refuses the record", fix)
    if port != API_PORT:
        what = f"the load balancer serves the Kubernetes API at port {API_PORT}, not {port}"
        fix = f"set port {API_PORT}, unless another load balancer of your own is at this endpoint"
        yield warning(("network", "endpoint"), what, fix=fix)


def instances_run_talos(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    reported: set[Path] = set()
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        name, path = node.instance_type or "", place.of("instance_type")
        path = ("aws", "instance_type") if path == place.path else path
        has = "arm64" if _GRAVITON.match(name) else "amd64"
        found = None
        if name.startswith("t2."):
            found = error(path, f"Talos does not support t2 instances: `{name}`", fix="use a t3 or newer type")
        elif has != node.arch:
            what = f"`{name}` is {has}, and `{node.name}` is {node.arch}"
            found = error(path, what, fix=f"set `arch: {has}` for the node, or another instance type")
        if found is not None and path not in reported:
            reported.add(path)
            yield found


def image_has_what_is_asked_for(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section, image = layout.section, resolved.inventory.image
    if section.ami is not None:
        found = sorted({node.arch for node in resolved.cluster.nodes})
        if len(found) > 1:
            what = f"one image for {' and '.join(found)}"
            yield error(("aws", "ami"), what, fix="leave `ami` out, or use one architecture")
        return
    paths: list[Path] = [("image", key) for key in ("extensions", "kernel_args", "schematic") if getattr(image, key)]
    paths += [place.of("schematic") for place in resolved.places if place.of("schematic") != place.path]
    for path in dict.fromkeys(paths):
        why = "machines start from the image that Sidero Labs publishes, which is without system extensions"
        fix = "set `aws.ami` to an image of your own, made from the image factory's disk image for AWS"
        yield warning(path, f"`{path[-1]}` has no effect on AWS without `aws.ami`", why, fix)


def zones_carry_etcd(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    """One zone alone is a choice; two look like more than they are."""
    controlplanes = resolved.cluster.controlplanes
    if len(layout.section.azs) < 2 or len(controlplanes) < 3:
        return
    ((zone, most),) = Counter(node.zone for node in controlplanes).most_common(1)
    if 2 * (len(controlplanes) - most) <= len(controlplanes):
        what = f"{most} of {len(controlplanes)} control planes are in {zone}"
        fix = "spread the control planes over three zones: `aws.azs`, or `az` of a control plane"
        yield warning(("aws", "azs"), what, "etcd has no quorum without this zone", fix)


def settings_have_effect(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    if section.spot and not resolved.cluster.workers:
        yield warning(("aws", "spot"), "`spot` has no effect without workers", fix="remove `spot`")
    if "nat_gateways" in section.model_fields_set and (not section.private or section.subnets):
        why = "NAT gateways are created for private subnets that talosmith creates"
        yield warning(("aws", "nat_gateways"), "`nat_gateways` has no effect", why, "remove `nat_gateways`")


def key_is_in_the_region(layout: Layout[Aws], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    parts = (section.kms_key or "").split(":")
    if len(parts) > 3 and parts[3] != section.region:
        what = f"the KMS key is in {parts[3]}, the disks are in {section.region}"
        yield error(("aws", "kms_key"), what, fix=f"use a key of {section.region}")


RULES: tuple[Rule, ...] = (
    can_be_laid_out,
    existing_network_fits,
    reachable,
    api_is_named,
    instances_run_talos,
    image_has_what_is_asked_for,
    zones_carry_etcd,
    settings_have_effect,
    key_is_in_the_region,
)
