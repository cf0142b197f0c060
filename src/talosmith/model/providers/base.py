"""What resolving an inventory needs from the section of every provider, and what several sections have."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from talosmith.model.section import Section
from talosmith.model.values import wrong


class ProviderSection(Section):
    """What resolving needs from every provider."""

    name: ClassVar[str]
    platform: ClassVar[str]  # which Talos image the machines boot
    install_device: ClassVar[str | None] = None  # what Talos finds the first disk as
    sized: ClassVar[bool] = True  # machines are created with the CPU and memory of the inventory …
    virtual: ClassVar[bool] = True  # … and with disks and a network interface, whose MAC address talosmith chooses
    has_api_balancer: ClassVar[bool] = False
    gives_addresses: ClassVar[bool] = False  # else by static configuration, or DHCP reservations
    built: ClassVar[bool] = True  # False: machine configs can be rendered, machines cannot be created yet


def _checksum(value: str) -> str:
    kind, _, digits = value.lower().rpartition(":")
    if not re.fullmatch(
        {"": r"[0-9a-f]{64}", "sha256": r"[0-9a-f]{64}", "sha512": r"[0-9a-f]{128}"}.get(kind, "-"), digits
    ):
        raise wrong("this is not a checksum", fix="64 hexadecimal digits of SHA-256, or sha512: and 128 of them")
    return f"{kind or 'sha256'}:{digits}"


ImageChecksum = Annotated[str, AfterValidator(_checksum)]
