"""What the provider needs, and what it would not understand."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error, note, warning
from talosmith.inventory.resolve import GROUP, Resolved
from talosmith.model.providers import PROVIDERS, Aws, Lab, Libvirt, Metal, Proxmox

# Settings of nodes that only some providers know what to do with.
_ONLY_FOR = {
    "vmid": ("proxmox",),
    "fingerprint": ("metal",),
    "instance_type": ("aws",),
    "az": ("aws",),
    "extra_disks": ("lab", "libvirt", "proxmox", "aws"),
    "cpu": ("lab", "libvirt", "proxmox", "docker"),
    "ram": ("lab", "libvirt", "proxmox", "docker"),
}
AWS_PREFIXES = range(16, 25)
LARGEST_SEARCH = 1024  # addresses


def one_provider(resolved: Resolved) -> Iterator[Finding]:
    given = [name for name in PROVIDERS if getattr(resolved.inventory, name) is not None]
    for name in given[1:]:
        what = f"`{given[0]}` and `{name}` are both given"
        yield error((name,), what, "the machines of a cluster come from one provider", "keep one block")


def settings_fit_the_provider(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider.name
    foreign = {key: names for key, names in _ONLY_FOR.items() if provider not in names}
    told: set[tuple[str | int, ...]] = set()
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        group = GROUP[node.role]
        shared = getattr(resolved.inventory, group).model_fields_set
        for key, names in foreign.items():
            path = (*place.path, key) if place.gives(key) else (group, key)
            if path in told or not (place.gives(key) or key in shared):
                continue
            told.add(path)
            what = f"`{key}` says nothing to the provider `{provider}`"
            yield warning(path, what, f"it is for {', '.join(names)}", "remove it")


def libvirt_has_one_network(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider
    if isinstance(provider, Libvirt) and provider.network and provider.bridge:
        what = "both a libvirt network and a bridge are given"
        yield error(("libvirt", "bridge"), what, fix="keep `network` or `bridge`")


def libvirt_image_is_proven(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider
    if isinstance(provider, Libvirt) and (provider.image or "").startswith("http://") and not provider.image_checksum:
        what, why = "nothing proves that this image is the right one", "plain http can be changed on its way"
        yield error(("libvirt", "image"), what, why, "use https, or set `image_checksum`")


def proxmox_is_trusted_one_way(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider
    if isinstance(provider, Proxmox) and provider.fingerprint and provider.ca:
        what = "both a fingerprint and a CA are given"
        yield error(("proxmox", "ca"), what, fix="keep `fingerprint` (self-signed hosts) or `ca`")


def aws_can_be_laid_out(resolved: Resolved) -> Iterator[Finding]:
    provider = resolved.cluster.provider
    if not isinstance(provider, Aws):
        return
    if provider.vpc_cidr.version != 4 or provider.vpc_cidr.prefixlen not in AWS_PREFIXES:
        what = f"a VPC of {provider.vpc_cidr} cannot be divided"
        yield error(("aws", "vpc_cidr"), what, "each zone gets a sixteenth, of at least /28", "use /16 to /24")
    if resolved.inventory.network.node_cidr is not None:
        yield error(("network", "node_cidr"), "on AWS the nodes' network is `aws.vpc_cidr`", fix="remove this one")
    if resolved.inventory.network.vip is not None:
        what = "a VIP does not work on AWS"
        yield error(("network", "vip"), what, "the network does not carry it", "the load balancer takes its place")
    for index, zone in enumerate(provider.azs):
        if not zone.startswith(provider.region):
            yield error(("aws", "azs", index), f"`{zone}` is not a zone of {provider.region}")
        if zone in provider.azs[:index]:
            yield error(("aws", "azs", index), f"`{zone}` is listed twice")


def lab_stays_on_loopback(resolved: Resolved) -> Iterator[Finding]:
    if not isinstance(resolved.cluster.provider, Lab):
        return
    why, fix = "the lab listens on this computer only", "leave it out, or use a network in 127.0.0.0/8"
    network = resolved.cluster.network.node_cidr
    if network is not None and not network.is_loopback:
        yield error(("network", "node_cidr"), f"the lab cannot use {network}", why, fix)


def image_is_said_once(resolved: Resolved) -> Iterator[Finding]:
    image = resolved.inventory.image
    if image.schematic and (image.extensions or image.kernel_args):
        what = "a schematic is given, and extensions or kernel arguments too"
        yield error(("image", "schematic"), what, "the schematic already fixes them", "keep one of the two")


def metal_knows_its_card(resolved: Resolved) -> Iterator[Finding]:
    """Machines of ours have the MAC address we gave them; of others we must be told."""
    if not isinstance(resolved.cluster.provider, Metal) or resolved.cluster.network.addressing != "static":
        return
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        if node.mac is None and node.interface is None and node.bond is None:
            what = f"`{node.name}`: which network card gets the address {node.ip}?"
            yield error(place.path, what, fix="set `mac_addr`, or `interface` to its name")


def metal_search_is_bounded(resolved: Resolved) -> Iterator[Finding]:
    """A packet to each address is polite in a small network only, and machines are known by their MAC addresses."""
    provider, network = resolved.cluster.provider, resolved.cluster.network.node_cidr
    if not isinstance(provider, Metal) or not provider.search:
        return
    if network is None:
        what, fix = "there is no network to search", "set `network.node_cidr`, or remove this"
        yield error(("metal", "search"), what, fix=fix)
    elif network.version != 4 or network.num_addresses > LARGEST_SEARCH:
        what = f"{network} cannot be searched: it is not an IPv4 network of at most {LARGEST_SEARCH} addresses"
        yield error(("metal", "search"), what, fix="give each machine its `ip` by DHCP, and remove this")
    elif all(node.mac is None for node in resolved.cluster.nodes):
        yield error(("metal", "search"), "no node has a MAC address to search for", fix="set `mac_addr`")


def dhcp_is_told(resolved: Resolved) -> Iterator[Finding]:
    if resolved.cluster.network.addressing == "dhcp":
        what = "no `network.node_cidr`: the nodes get their addresses by DHCP"
        why = "reserve each node's `ip` for its MAC address, which `talosmith show` lists"
        if isinstance(resolved.cluster.provider, Metal):
            why = "each machine must be at its `ip` already, and keep it"
        yield note(("network",), what, why, "or set node_cidr and gateway for static addresses")
