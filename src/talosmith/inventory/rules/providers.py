"""What the provider requires, and settings that have no effect with it."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error, note, warning
from talosmith.inventory.layouts import LAYOUTS
from talosmith.inventory.resolve import GROUP, Resolved
from talosmith.model.providers import PROVIDERS

_SETTINGS = ("vmid", "fingerprint", "instance_type", "az", "host", "extra_disks", "cpu", "ram")


def one_provider(resolved: Resolved) -> Iterator[Finding]:
    given = [name for name in PROVIDERS if getattr(resolved.inventory, name) is not None]
    for name in given[1:]:
        what = f"`{given[0]}` and `{name}` are both set"
        yield error((name,), what, "a cluster has one provider", "keep one block")


def provider_is_built(resolved: Resolved, *, needed: bool = False) -> Iterator[Finding]:
    """`needed`: the caller is about to work with machines, which such a provider cannot create or find yet."""
    section = resolved.cluster.provider
    if not section.built:
        what = f"provider `{section.name}` is not built yet"
        why = "`plan`, `up` and all commands that work with machines refuse it; `show`, `render` and `secrets` work"
        fix = "use `metal` with machines that you create yourself, or `lab` to try things out"
        yield (error if needed else warning)((section.name,), what, why, fix)


def settings_fit_the_provider(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider.name
    knowing = {key: [name for name, one in LAYOUTS.items() if key in one.settings] for key in _SETTINGS}
    foreign = {key: names for key, names in knowing.items() if provider not in names}
    reported: set[tuple[str | int, ...]] = set()
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        group = GROUP[node.role]
        shared = getattr(resolved.inventory, group).model_fields_set
        for key, names in foreign.items():
            path = (*place.path, key) if place.gives(key) else (group, key)
            if path in reported or not (place.gives(key) or key in shared):
                continue
            reported.add(path)
            what = f"`{key}` has no effect with provider `{provider}`"
            yield warning(path, what, f"used by {', '.join(names)} only", "remove it")


def layout_is_possible(resolved: Resolved) -> Iterator[Finding]:
    layout = resolved.layout
    for rule in layout.rules:
        yield from rule(layout, resolved)


def image_is_said_once(resolved: Resolved) -> Iterator[Finding]:
    image = resolved.inventory.image
    if image.schematic and (image.extensions or image.kernel_args):
        what = "`schematic` is set together with `extensions` or `kernel_args`"
        yield error(("image", "schematic"), what, "the schematic id already determines them", "keep one of the two")


def dhcp_is_told(resolved: Resolved) -> Iterator[Finding]:
    if resolved.cluster.network.addressing == "dhcp":
        what = "no `network.node_cidr`: nodes get their addresses by DHCP"
        yield note(
            ("network",), what, resolved.layout.dhcp_advice, "or set node_cidr and gateway for static addresses"
        )
