"""Machines that have this cluster's secrets under another cluster name: what a changed `cluster_name` leaves behind.

Tags have the cluster's name and an id of its secrets, and machines are found by both. So a renamed cluster would find
none of its machines, and a second one would be created beside the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from talosmith.desired.target import Desired
from talosmith.errors import TalosmithError
from talosmith.model.secret import Secret
from talosmith.observed.world import Observed
from talosmith.providers.base import FindsRenamed, Provider

_NAME = re.compile(r"^ +clusterName: +[\"']?([A-Za-z0-9._-]+)", re.MULTILINE)


async def former_machines(desired: Desired, provider: Provider, observed: Observed) -> Mapping[str, tuple[str, ...]]:
    """By former cluster name: its machines, as tags of the provider and machine configs of running nodes have it.

    A provider that does not answer is no reason to fail here: without its answer the plan is blocked anyway.
    """
    found: dict[str, set[str]] = {}
    if isinstance(provider, FindsRenamed):
        with suppress(TalosmithError):
            for name, machines in (await provider.find_renamed()).items():
                found.setdefault(name, set()).update(machines)
    wanted = names_of(desired)
    for node, seen in observed.nodes.items():
        live = cluster_name(seen.config) if isinstance(seen.config, Secret) and not seen.foreign_reason else ""
        if live and live not in wanted:
            found.setdefault(live, set()).add(node)
    return {name: tuple(sorted(machines)) for name, machines in sorted(found.items())}


def names_of(desired: Desired) -> frozenset[str]:
    """The cluster's name; a patch of machine configs may set another one for Talos."""
    first = next(iter(desired.controlplanes))
    return frozenset((desired.cluster.name, cluster_name(first.config) or desired.cluster.name))


def cluster_name(config: Secret) -> str:
    """`cluster.clusterName` of a machine config; read as text, because a plan reads the configs of all nodes."""
    found = _NAME.search(config.reveal())
    return found[1] if found else ""
