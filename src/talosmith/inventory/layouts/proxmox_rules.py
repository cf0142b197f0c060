"""Rules for the block `proxmox`: settings that exclude each other, need each other, or have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talosmith.inventory.findings import Finding, error, note, warning
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.layouts.metal import LARGEST_SEARCH
from talosmith.inventory.parse import Path
from talosmith.model.providers.proxmox import Proxmox, is_volume
from talosmith.model.services import GUEST_AGENT

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

Rule = Callable[[Layout[Proxmox], "Resolved"], Iterator[Finding]]

# CPU types of Proxmox VE without all instructions of x86-64-v2 (SSSE3, SSE4.2, POPCNT).
_TOO_OLD = re.compile(
    r"486|athlon|conroe|core2duo|coreduo|(kvm|qemu)(32|64)|opteron_g[123]|penryn|pentium\d*|phenom|x86-64-v1",
    re.IGNORECASE,
)
_MANY_NAMES = 3
_NOUN = {"template": "template", "iso": "ISO", "image": "disk image"}


def has_hosts(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    if section.node and section.hosts:
        why = "machines run on the Proxmox node `node`, or are spread over `hosts`"
        yield error(("proxmox", "hosts"), "both `node` and `hosts` are set", why, "keep `node` or `hosts`")
    if not section.nodes:
        why = "talosmith does not choose a Proxmox node itself"
        fix = "set `proxmox.node`, or `proxmox.hosts` to a list of Proxmox nodes"
        yield error(("proxmox",), "no Proxmox node for the machines", why, fix)
    for index, host in enumerate(section.hosts):
        if host in section.hosts[:index]:
            why = "machines are spread by the position in the list"
            yield error(("proxmox", "hosts", index), f"`{host}` is listed twice", why, "remove one of the two")


def nodes_run_on_listed_hosts(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    reported: set[Path] = set()
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        path = place.of("host")
        if not section.nodes or node.host in section.nodes or path in reported:
            continue
        reported.add(path)
        what = f"`{node.name}`: `{node.host}` is neither `proxmox.node` nor one of `proxmox.hosts`"
        fix = f"one of {', '.join(section.hosts)}, or add `{node.host}` to `proxmox.hosts`"
        if not section.hosts:
            fix = f"remove `host`, or replace `node` by `hosts: [{section.node}, {node.host}]`"
        yield error(path, what, "machines are created and looked for on those Proxmox nodes only", fix)


def api_keeps_its_address(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    host = urlsplit(layout.section.url or "").hostname or ""
    why = "two machines with one address: the Proxmox host becomes unreachable"
    for node in resolved.cluster.nodes:
        if str(node.ip) == host:
            what = f"{host} is the address of `{node.name}`, and of the Proxmox API"
            fix = "change the node's `ip`, or `network.cp_ip_offset` and `network.worker_ip_offset`"
            yield error(("proxmox", "url"), what, why, fix)
    if str(resolved.cluster.network.vip) == host:
        what = f"the VIP {host} is the address of the Proxmox API"
        yield error(("network", "vip"), what, why, "choose a free address")


def token_is_complete(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    why = "the API needs both parts of the token"
    if section.token_id and section.token_secret is None:
        fix = "for example token_secret: sops:proxmox.token; or set PROXMOX_VE_API_TOKEN instead of both"
        yield error(("proxmox", "token_id"), "`token_id` is set without `token_secret`", why, fix)
    if section.token_secret is not None and not section.token_id:
        fix = "for example token_id: talosmith@pve!cluster; or set PROXMOX_VE_API_TOKEN instead of both"
        yield error(("proxmox", "token_secret"), "`token_secret` is set without `token_id`", why, fix)


def is_trusted_one_way(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    if layout.section.fingerprint and layout.section.ca:
        why = "the server's certificate is verified by one of the two"
        fix = "keep `fingerprint` (self-signed hosts) or `ca`"
        yield error(("proxmox", "ca"), "both `fingerprint` and `ca` are set", why, fix)


def starts_one_way(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    source = section.starts_from
    used = "image" if source == "template" and not section.template else source  # what a template is created from
    for key in ("template", "iso", "image"):
        if not getattr(section, key) or key == used:
            continue
        what, fix = f"both `{source}` and `{key}` are set", f"keep `{source}` or `{key}`"
        if section.boot and not getattr(section, source):
            what, fix = f"`{key}` is set with `boot: {source}`", f"remove `{key}`, or set `boot: {key}`"
        why = f"machines start from the {_NOUN[source]}"
        if used != source:
            why = "talosmith creates the template from a disk image"
        yield error(("proxmox", key), what, why, fix)
    if section.clone == "linked" and source != "template":
        what = f"`clone: linked`, but machines start from the {_NOUN[source]}"
        fix = "set `boot: template`, or remove `clone`"
        yield error(("proxmox", "clone"), what, "only a template is cloned", fix)


def secure_boot_has_keys(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section, cluster = layout.section, resolved.cluster
    secure = [node.name for node in cluster.nodes if node.image.secureboot]
    if not secure:
        return
    names = _names(secure)
    fix = "or set `image.secureboot: false`"
    if section.firmware == "bios":
        why = "Secure Boot needs UEFI firmware"
        what = f"`firmware: bios` with Secure Boot for {names}"
        yield error(("proxmox", "firmware"), what, why, f"remove `firmware`, {fix}")
    if section.starts_from == "template":
        key = "boot" if section.boot else "template"
    elif section.boot == "image":
        key = "boot"
    elif section.starts_from == "image" and section.image and len(secure) == len(cluster.nodes):
        key = "image"
    else:
        return
    what = f"Secure Boot for {names}, but machines start from the {_NOUN[section.starts_from]}"
    why = "only the Secure Boot ISO of Talos carries keys to enroll in the firmware; disk images do not"
    yield error(("proxmox", key), what, why, f"use `boot: iso` without `image` and `template`, {fix}")


def encryption_has_a_tpm(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    encrypted = [
        (node.name, place.of("encrypt_disk"))
        for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True)
        if node.encrypt_disk
    ]
    if encrypted and not layout.section.tpm:
        what = f"`encrypt_disk` for {_names([name for name, _ in encrypted])}, but machines have no TPM"
        why = "the TPM seals the LUKS2 keys of STATE and EPHEMERAL: Talos cannot encrypt them without one"
        yield error(encrypted[0][1], what, why, "set `proxmox.tpm: true`, or remove `encrypt_disk`")


def cpu_type_runs_talos(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    model = layout.section.cpu_type.partition(",")[0]  # flags may follow
    if _TOO_OLD.fullmatch(model):
        what = f"Talos does not run on the CPU type `{model}`"
        why = "Talos needs the instructions of x86-64-v2 and crashes before maintenance mode without them"
        yield error(("proxmox", "cpu_type"), what, why, "use `host`, or `x86-64-v2-AES` for live migration")


def traffic_is_tagged_once(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    own = layout.section.vlan
    reported: set[Path] = set()
    for node, place in zip(resolved.cluster.nodes, resolved.places, strict=True):
        found = place.of("vlan")
        path: Path = found if found[-1] == "vlan" else ("network", "vlan")
        if own is None or node.vlan is None or path in reported:
            continue
        reported.add(path)
        what = f"traffic of `{node.name}` is tagged twice: VLAN {node.vlan} by the node, VLAN {own} by Proxmox"
        why = "a bridge drops frames that arrive tagged at a port with a tag of its own"
        fix = "keep `proxmox.vlan` (the node does not need to know the VLAN), and remove this one"
        if node.vlan == own:
            yield error(path, what, why, fix)
        else:
            yield warning(path, what, why, f"{fix}; keep both for QinQ only")


def first_address_is_by_dhcp(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    network = resolved.cluster.network
    if layout.section.seed or network.addressing != "static" or network.node_cidr is None:
        return
    path, searched = ("proxmox", "seed"), network.node_cidr
    what = "`seed: false`: machines get their first address by DHCP"
    why = "without a NoCloud seed they wait in maintenance mode there, and are found by their MAC address"
    fix = "needs a DHCP server in the node network, and talosmith on a computer in the same network"
    yield note(path, what, why, fix)
    has_agent = GUEST_AGENT in resolved.inventory.image.extensions
    if not has_agent and (searched.version != 4 or searched.num_addresses > LARGEST_SEARCH):
        what = f"{searched} cannot be searched for MAC addresses: not IPv4 with at most {LARGEST_SEARCH} addresses"
        yield warning(path, what, why, f"remove `seed: false`, or add {GUEST_AGENT} to `image.extensions`")


def machines_are_amd64(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    names = [node.name for node in resolved.cluster.nodes if node.arch != "amd64"]
    if names:
        why = "Proxmox VE runs on amd64, and only root may give a VM another architecture"
        yield error(("proxmox",), f"arm64 is not possible on Proxmox VE: {_names(names)}", why, "remove `arch`")


def image_is_proven(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    for key in ("image", "iso"):
        if (getattr(section, key) or "").startswith("http://") and not section.image_checksum:
            what, why = f"the {_NOUN[key]} is not verified", "plain http can be modified in transit"
            yield error(("proxmox", key), what, why, "use https, or set `image_checksum`")


def image_settings_are_used(layout: Layout[Proxmox], resolved: Resolved) -> Iterator[Finding]:
    section = layout.section
    volume = next((one for one in (section.image, section.iso) if one and is_volume(one)), None)
    unused = "machines are clones of an existing template" if section.template else ""
    if volume:
        unused = f"`{volume}` is a volume of Proxmox, used as it is"
    if section.image_checksum and unused:
        yield warning(("proxmox", "image_checksum"), "`image_checksum` has no effect", unused, "remove it")
    if all(section.start_of(secureboot=node.image.secureboot) == "iso" for node in resolved.cluster.nodes):
        unused = "machines start from an ISO, which is stored in `iso_storage`"
    if section.image_storage and unused:
        yield warning(("proxmox", "image_storage"), "`image_storage` has no effect", unused, "remove it")


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MANY_NAMES
    return ", ".join(names[:_MANY_NAMES]) + (f" and {more} more" if more > 0 else "")


RULES: tuple[Rule, ...] = (
    has_hosts,
    nodes_run_on_listed_hosts,
    api_keeps_its_address,
    token_is_complete,
    is_trusted_one_way,
    starts_one_way,
    secure_boot_has_keys,
    encryption_has_a_tpm,
    cpu_type_runs_talos,
    traffic_is_tagged_once,
    first_address_is_by_dhcp,
    machines_are_amd64,
    image_is_proven,
    image_settings_are_used,
)
