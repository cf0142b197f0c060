"""Rules across fields: each is one function that checks the resolved cluster and yields findings.

A new rule is one more function in `RULES`, or in the layout of the provider that it is about; a case in
`tests/unit/inventory/cases/` proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from talosmith.inventory.findings import Finding
from talosmith.inventory.resolve import Resolved
from talosmith.inventory.rules import (
    addons,
    addresses,
    identity,
    networks,
    not_built,
    providers,
    services,
    sizes,
    topology,
    versions,
)

Rule = Callable[[Resolved], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    identity.names_differ,
    identity.macs_differ,
    identity.vmids_differ,
    identity.fingerprints_differ,
    addresses.addresses_differ,
    addresses.offsets_keep_apart,
    addresses.addresses_are_usable,
    addresses.gateway_is_in_the_network,
    addresses.vip_is_free,
    addresses.service_addresses_are_free,
    addresses.pool_is_free,
    networks.networks_keep_apart,
    networks.pods_have_room,
    topology.control_planes_can_vote,
    topology.api_survives_a_node,
    topology.nodes_are_listed_or_counted,
    topology.overrides_name_nodes,
    versions.talos_is_known,
    versions.kubernetes_fits_talos,
    versions.versions_are_not_withdrawn,
    sizes.machines_can_boot,
    sizes.machines_have_room,
    sizes.disk_is_chosen_one_way,
    providers.one_provider,
    providers.provider_is_built,
    providers.settings_fit_the_provider,
    providers.layout_is_possible,
    providers.image_is_said_once,
    providers.dhcp_is_told,
    services.dns_is_complete,
    services.unifi_is_complete,
    services.bgp_timers_fit,
    services.gateways_are_complete,
    services.repository_host_is_known,
    addons.addons_are_known,
    addons.addons_are_complete,
    addons.addons_are_possible,
    addons.one_cni,
    not_built.keys_are_built,
)

# Rules that compare explicit values, so their findings hold even while other values are invalid.
CERTAIN: frozenset[Rule] = frozenset(
    {
        identity.names_differ,
        identity.macs_differ,
        identity.vmids_differ,
        identity.fingerprints_differ,
        addresses.addresses_differ,
        networks.networks_keep_apart,
        topology.nodes_are_listed_or_counted,
        versions.talos_is_known,
        versions.kubernetes_fits_talos,
        versions.versions_are_not_withdrawn,
        sizes.machines_can_boot,
        providers.one_provider,
        providers.provider_is_built,
        addons.addons_are_known,
        not_built.keys_are_built,
        services.bgp_timers_fit,
    }
)


def check(resolved: Resolved, *, only_certain: bool = False, machines: bool = False) -> Iterator[Finding]:
    """`machines`: the caller works with machines, so a provider that is not built is an error."""
    for rule in RULES:
        if rule is providers.provider_is_built:  # the one whose severity depends on the caller
            yield from providers.provider_is_built(resolved, needed=machines)
        elif not only_certain or rule in CERTAIN:
            yield from rule(resolved)
