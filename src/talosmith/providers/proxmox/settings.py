"""What the provider needs of the inventory besides the machines themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from talosmith.model.machines import MachineSpec
from talosmith.model.providers import Proxmox
from talosmith.model.secret import Secret
from talosmith.model.values import IpNetwork
from talosmith.providers.images import Source

BootKind = Literal["image", "iso", "template"]


@dataclass(frozen=True, slots=True)
class Boot:
    """What a machine starts from. A source is uploaded; a volume or template of Proxmox is used as it is."""

    kind: BootKind
    source: Source | None = None
    volume: str = ""
    template: str = ""  # name or VMID of an existing one; empty: the one that talosmith makes of the source

    @property
    def is_iso(self) -> bool:
        return self.kind == "iso"


@dataclass(frozen=True, slots=True)
class ProxmoxSettings:
    section: Proxmox
    specs: Mapping[str, MachineSpec]  # of all nodes, by name
    seed: Callable[[MachineSpec, Secret | None], bytes]  # the ISO
    boot: Callable[[MachineSpec], Boot]
    disk: Callable[[MachineSpec], Boot] | None = None  # what a template of the node's image is made of
    vip: str = ""  # that the control planes share
    search: IpNetwork | None = None  # where machines without a seed are looked for by their MAC addresses
    cache: Path | None = None  # of images; the user's if left out
    patience: float = 60.0  # seconds that a machine gets to shut down by itself
    vmids: Mapping[int, str] = field(default_factory=dict)  # of the inventory's nodes: names

    def storage_of(self, source: Source) -> str:
        """That the image or ISO is uploaded to."""
        return self.section.iso_storage if source.iso else self.section.images_in

    def host(self, spec: MachineSpec) -> str:
        return spec.node.host or self.section.nodes[0]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Those that machines of the inventory are placed on."""
        return tuple(dict.fromkeys(self.host(spec) for spec in self.specs.values())) or self.section.nodes
