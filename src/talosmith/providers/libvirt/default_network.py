"""The address range of libvirt's network `default` on this computer, for a new inventory to propose."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ElementTree
from functools import cache
from ipaddress import IPv4Interface

_PATIENCE = 1.0  # seconds: a question must not wait for a host that does not answer


@cache
def default_network(uri: str) -> IPv4Interface | None:
    """The host's address in it; None if libvirt is not here, does not answer in time, or has no such network."""
    found: list[IPv4Interface | None] = []
    if not uri.startswith("qemu:///"):
        return None  # a remote host may ask for a password
    reading = threading.Thread(target=lambda: found.append(_read(uri)), daemon=True)
    reading.start()
    reading.join(_PATIENCE)
    return found[0] if found else None


def _read(uri: str) -> IPv4Interface | None:
    try:
        import libvirt
    except ImportError:
        return None
    libvirt.registerErrorHandler(lambda *_: None, None)
    try:
        connection = libvirt.openReadOnly(uri)
        try:
            return address_in(connection.networkLookupByName("default").XMLDesc())
        finally:
            connection.close()
    except libvirt.libvirtError:
        return None


def address_in(xml: str) -> IPv4Interface | None:
    """The first IPv4 address of the host in a network's XML."""
    for ip in ElementTree.fromstring(xml).iter("ip"):  # noqa: S314 - by libvirt, of this computer
        if ip.get("family", "ipv4") == "ipv4" and ip.get("address"):
            return IPv4Interface(f"{ip.get('address')}/{ip.get('prefix') or ip.get('netmask')}")
    return None
