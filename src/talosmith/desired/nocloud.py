"""What a machine on the NoCloud platform finds on its seed disk: name, network and machine config.

Talos reads a part of what cloud-init knows; what is written here is what Talos understands, no more. The disk is an
ISO with the label `cidata`: the same bytes for the same content, so that it can be named by its hash and is made
again only when something changed.
"""

from __future__ import annotations

import io
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.errors import UsageError
from talosmith.yaml import goyaml

LABEL = "cidata"
META_DATA, USER_DATA, NETWORK_CONFIG = "meta-data", "user-data", "network-config"

_SECTOR = 2048
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,26}")
_VOLUME_DATES = (813, 830, 864)  # made, changed, valid from; the fourth, the end, stays open
_VOLUME_DATE = b"1980010100000000\0"
_RECORD_DATE = bytes([80, 1, 1, 0, 0, 0, 0])


@dataclass(frozen=True, slots=True)
class SeedNetwork:
    """One network interface.

    Talos finds it by its MAC address, and by its name if no interface has that address. With a VLAN, addresses and
    the rest belong to the VLAN's interface, whose parent Talos finds by name alone: `eth0` is the first one's.
    """

    mac: str = ""
    name: str = "eth0"
    dhcp: bool = False
    addresses: tuple[str, ...] = ()  # with their prefix length: 10.0.0.5/24
    gateways: tuple[str, ...] = ()  # at most one for each IP family
    nameservers: tuple[str, ...] = ()
    mtu: int = 0
    vlan: int = 0


def seed(hostname: str, config: str, networks: Sequence[SeedNetwork], *, instance_id: str = "") -> dict[str, bytes]:
    """The files of the seed disk. Without networks Talos asks for addresses by DHCP on every interface."""
    files = {META_DATA: meta_data(hostname, instance_id), USER_DATA: user_data(config)}
    if networks:
        files[NETWORK_CONFIG] = network_config(networks)
    return {name: text.encode() for name, text in files.items()}


def meta_data(hostname: str, instance_id: str = "") -> str:
    return goyaml.dump({"instance-id": instance_id or hostname, "local-hostname": hostname})


def user_data(config: str) -> str:
    """The machine config as it is. Talos would take two first lines for something else."""
    first_line = config.partition("\n")[0].strip()
    if first_line in ("#cloud-config", "#include"):
        raise UsageError(
            f"a machine config that starts with {first_line} would not be read as one",
            hint="Remove the first line.",
        )
    return config


def network_config(networks: Sequence[SeedNetwork]) -> str:
    """In version 2 of the format."""
    ethernets: dict[str, Any] = {}
    vlans: dict[str, Any] = {}
    taken = set()
    for network in networks:
        if (network.name, network.vlan) in taken:
            raise UsageError(f"the network of {network.name} is given twice", hint="Put all its addresses into one.")
        taken.add((network.name, network.vlan))
        link = ethernets.setdefault(network.name, {})
        if network.mac:
            link["match"] = {"macaddress": network.mac.lower()}
        if network.mtu:
            link["mtu"] = max(network.mtu, link.get("mtu", 0))
        if network.vlan:
            settings = {"mtu": network.mtu} if network.mtu else {}
            vlans[f"{network.name}.{network.vlan}"] = {
                "id": network.vlan,
                "link": network.name,
                **settings,
                **_addressing(network),
            }
        else:
            link.update(_addressing(network))
    return goyaml.dump({"version": 2, "ethernets": ethernets, **({"vlans": vlans} if vlans else {})})


def _addressing(network: SeedNetwork) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if network.dhcp:
        parts["dhcp4"] = True
    if network.addresses:
        parts["addresses"] = list(network.addresses)
    for gateway in network.gateways:
        key = f"gateway{_ip_version(gateway)}"
        if key in parts:
            raise UsageError(
                f"{network.name} has two gateways of one IP family, {parts[key]} and {gateway}",
                hint="Keep one; other ways out are routes in the machine config.",
            )
        parts[key] = gateway
    if network.nameservers:
        parts["nameservers"] = {"addresses": list(network.nameservers)}
    return parts


def _ip_version(address: str) -> int:
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        raise UsageError(
            f"{address!r} is not an IP address", hint="Give an address without a prefix length."
        ) from None


def iso(files: Mapping[str, bytes]) -> bytes:
    """The seed disk's image."""
    from pycdlib import PyCdlib

    image = PyCdlib()
    image.new(interchange_level=3, joliet=3, rock_ridge="1.09", vol_ident=LABEL)
    try:
        for name, content in files.items():
            if _FILE_NAME.fullmatch(name) is None:
                raise UsageError(f"{name!r} cannot be the name of a file on a seed disk")
            plain_name = name.upper().replace("-", "_")
            image.add_fp(io.BytesIO(content), len(content), f"/{plain_name}.;1", rr_name=name, joliet_path=f"/{name}")
        written = io.BytesIO()
        image.write_fp(written)
    finally:
        image.close()
    return bytes(_without_dates(bytearray(written.getvalue())))


def _without_dates(image: bytearray) -> bytearray:
    """The image with one fixed date in place of every time at which it was made."""
    volume = 16 * _SECTOR
    while image[volume] != 255:
        for offset in _VOLUME_DATES:
            image[volume + offset : volume + offset + 17] = _VOLUME_DATE
        root = volume + 156
        image[root + 18 : root + 25] = _RECORD_DATE
        start, size = _number(image, root + 2) * _SECTOR, _number(image, root + 10)
        for record in _records(image, start, size):
            image[record + 18 : record + 25] = _RECORD_DATE
            for at, length in _time_stamps(image, record):
                image[at : at + length] = _RECORD_DATE * (length // 7)
        volume += _SECTOR
    return image


def _records(image: bytearray, start: int, size: int) -> Iterator[int]:
    """Where the folder's records start. None goes over the end of a sector; what is left there is zeros."""
    at = start
    while at < start + size:
        if image[at]:
            yield at
            at += image[at]
        else:
            at += _SECTOR - at % _SECTOR


def _time_stamps(image: bytearray, record: int) -> Iterator[tuple[int, int]]:
    """Where Rock Ridge, behind the name, keeps times, and how many bytes of them."""
    name_length = image[record + 32]
    at = record + 33 + name_length + (1 - name_length % 2)
    while at + 4 <= record + image[record] and image[at + 2]:
        if image[at : at + 2] == b"TF":
            yield at + 5, image[at + 2] - 5
        at += image[at + 2]


def _number(image: bytearray, at: int) -> int:
    return int.from_bytes(image[at : at + 4], "little")
