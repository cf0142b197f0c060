"""What a cluster stands on, as the provider has it now, compared with what the inventory wants.

Only the provider knows what it can change in place, so the comparison is made here, and plans stay pure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from talosmith.desired.target import Desired
from talosmith.errors import TalosmithError
from talosmith.model.resources import Difference, Resource, ResourceSpec
from talosmith.observed.world import ResourceSeen, ResourcesSeen, Unknown
from talosmith.providers.base import HasResources, NamesEndpoint, Provider
from talosmith.waiting import retried

T = TypeVar("T")
_TRIES, _BETWEEN = 4, 0.2  # of asking the provider, and seconds in between


async def look_at_resources(desired: Desired, provider: Provider) -> ResourcesSeen | Unknown | None:
    if not isinstance(provider, HasResources):
        return None
    there = await persist(provider.find_resources, f"{provider.name} did not tell which resources there are")
    if isinstance(there, Unknown):
        return there
    learn_endpoint(desired, provider, there)
    return compare(desired, provider, there)


def learn_endpoint(desired: Desired, provider: Provider, there: Iterable[Resource]) -> None:
    """Where the provider names it: as soon as the load balancer exists."""
    if (
        desired.cluster.endpoint.to_come
        and isinstance(provider, NamesEndpoint)
        and (host := provider.endpoint(there))
    ):
        desired.use_endpoint(host)


def compare(desired: Desired, provider: HasResources, there: list[Resource]) -> ResourcesSeen:
    wanted = {one.key: one for one in provider.resources()}
    found = {one.key: one for one in there}

    def difference(spec: ResourceSpec | None, resource: Resource | None) -> Difference:
        return provider.difference(resource, spec) if spec and resource else Difference()

    pairs = ((key, wanted.get(key), found.get(key)) for key in dict.fromkeys([*wanted, *found]))
    return ResourcesSeen(
        each=tuple(
            ResourceSeen(key=key, wanted=spec, found=resource, difference=difference(spec, resource))
            for key, spec, resource in pairs
        ),
        machine_needs={name: provider.machine_needs(node.machine) for name, node in desired.nodes.items()},
    )


async def persist(ask: Callable[[], Awaitable[T]], wrong: str) -> T | Unknown:
    """Ask the provider more than once: a plan hangs on one answer."""
    try:
        return await retried(ask, _TRIES, lambda attempt, problem: _BETWEEN * attempt)
    except TalosmithError as last:
        return Unknown(f"{wrong}: {last}")
