"""What the provider needs of the inventory besides the machines themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from talosmith.model.machines import MachineSpec
from talosmith.model.providers import Libvirt
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.libvirt.networks import Network


@dataclass(frozen=True, slots=True)
class LibvirtSettings:
    section: Libvirt
    seed: Callable[[MachineSpec, Secret | None], bytes]  # the ISO
    image: Callable[[MachineSpec], Source]
    network: Network | None = None  # to be created if the host has none of its name
    cache: Path | None = None  # of images; the user's if left out
    patience: float = 60.0  # seconds that a machine gets to shut down by itself
    vip: str = ""  # that the control planes share
    sources: tuple[Source, ...] = ()  # of all images that machines of this cluster start from
