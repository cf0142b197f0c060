"""What AWS bills of a cluster, as counts and types; prices differ by region and contract, and are not known here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from talosmith.model.machines import MachineSpec
from talosmith.model.resources import ResourceSpec
from talosmith.providers.aws.launch import gib, is_spot
from talosmith.providers.aws.settings import AwsSettings


def billed(
    settings: AwsSettings, machines: Sequence[MachineSpec], resources: Sequence[ResourceSpec]
) -> tuple[str, ...]:
    types = Counter(
        f"{settings.instance_type(spec)}{' (spot)' if is_spot(settings, spec) else ''}" for spec in machines
    )
    kinds = Counter(one.kind for one in resources)
    sizes = [gib(size) for spec in machines for size in spec.disks_mib]
    addresses = (0 if settings.section.private else len(machines)) + kinds["nat-gateway"]
    if kinds["load-balancer"] and settings.balancer_is_public:
        addresses += len(settings.section.azs)
    found = [f"{count} × {name}" for name, count in sorted(types.items())]
    if sizes:
        found.append(f"{len(sizes)} gp3 {'volume' if len(sizes) == 1 else 'volumes'} of {sum(sizes)} GiB in all")
    if addresses:
        found.append(f"{addresses} public {'address' if addresses == 1 else 'addresses'}")
    if kinds["load-balancer"]:
        found.append("1 network load balancer")
    if gateways := kinds["nat-gateway"]:
        found.append(f"{gateways} NAT {'gateway' if gateways == 1 else 'gateways'}")
    return tuple(found)
