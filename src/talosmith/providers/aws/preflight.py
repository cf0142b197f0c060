"""A look at AWS before anything is created there: each thing that would fail later, with its cause and its fix.

First who calls: without credentials that AWS accepts nothing else can be said. Then all the rest at the same time;
a check that fails, is refused or takes too long hides no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.providers.aws.checks_base import Planned, failed, note
from talosmith.providers.aws.checks_identity import check_identity
from talosmith.providers.aws.checks_network import check_addresses, check_vpc
from talosmith.providers.aws.checks_permissions import CHECK, check_permissions
from talosmith.providers.aws.checks_quotas import check_quotas
from talosmith.providers.aws.checks_record import check_record
from talosmith.providers.aws.checks_types import check_images, check_types, check_zones
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.images import Images
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Finding
from talosmith.waiting import limited

_PATIENCE = 8.0  # seconds

# In the order in which someone looks for the cause: what comes first is the cause of what comes after.
_CHECKS: tuple[tuple[str, Callable[[Planned], Awaitable[list[Finding]]]], ...] = (
    (CHECK, check_permissions),
    ("availability zones", check_zones),
    ("instance types", check_types),
    ("image", check_images),
    ("quotas", check_quotas),
    ("VPC", check_vpc),
    ("addresses", check_addresses),
    ("hosted zone", check_record),
)


async def preflight(
    client: AwsClient, settings: AwsSettings, images: Images, specs: Sequence[MachineSpec]
) -> list[Finding]:
    """`specs`: machines that are to be created; without any only the caller is looked at."""
    identity, found = await check_identity(client, settings)
    if identity is None or not specs:
        return found
    planned = Planned(client, settings, images, specs, identity)
    results = await asyncio.gather(*(_settled(name, check, planned) for name, check in _CHECKS))
    return [*found, *(one for many in results for one in many)]


async def _settled(
    name: str, check: Callable[[Planned], Awaitable[list[Finding]]], planned: Planned
) -> list[Finding]:
    place = f"account {planned.identity.account}, region {planned.client.region}"
    try:
        async with limited(_PATIENCE):
            return await check(planned)
    except TalosmithError as problem:
        return [failed(name, problem, place)]
    return [note(name, f"not checked: no answer from AWS within {_PATIENCE:g} s", place, "run the command again")]
