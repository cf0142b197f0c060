"""Nodes: their own settings, those of their role, and values derived from their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.numbers import address_at, mac_of, number_of
from talosmith.inventory.parse import Path
from talosmith.inventory.schema import GROUP, Inventory, NodeGroup, NodeOverride, NodeSettings
from talosmith.model.cluster import ClusterNetwork, InstallDisk, Node, Patch, Role
from talosmith.model.disks import DiskDevice, DiskSerial, DiskSize
from talosmith.model.providers import ProviderSection
from talosmith.model.services import Image
from talosmith.model.settings import DiskSelector
from talosmith.model.values import IpAddress, IpNetwork

PREFIX: dict[Role, str] = {"controlplane": "cp-", "worker": "w-"}
DEFAULT_SIZES: dict[str, Any] = {"cpu": 2, "ram": 4096}
DEFAULT_DISK_MIB = 20 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """A node's place in the inventory: its own settings, and those of its role."""

    path: Path
    own: NodeOverride | None
    group: NodeGroup

    def of(self, key: str) -> Path:
        """The path of one of its values: its own, its role's, or the node itself where neither is set."""
        if self.gives(key):
            return (*self.path, key)
        return (self.path[0], key) if key in self.group.model_fields_set else self.path

    def gives(self, key: str) -> bool:
        return self.own is not None and key in self.own.model_fields_set


def resolve_nodes(
    inventory: Inventory,
    layout: Layout[Any],
    network: ClusterNetwork,
    patches: Callable[[str, Path, list[object]], tuple[Patch, ...]],
    findings: list[Finding],
) -> Iterator[tuple[Node, Place]]:
    """Each node that can be resolved, and its place; the others become findings."""
    for role, key in GROUP.items():
        group: NodeGroup = getattr(inventory, key)
        maker = _Maker(inventory, layout, network, role, findings)
        for name, own, path in entries(group, role):
            values = _merged_values(group, own, DEFAULT_SIZES if layout.section.sized else {})
            own_patches = patches(f"nodes/{name}", (*path, "patches"), (own.patches if own else None) or [])
            node = maker.node(name, path, values, own_patches)
            if node is not None:
                yield node, Place(path, own, group)


def entries(group: NodeGroup, role: Role) -> Iterator[tuple[str, NodeOverride | None, Path]]:
    """Name, the node's own settings, and their path."""
    key = GROUP[role]
    if group.nodes is not None:
        for index, entry in enumerate(group.nodes):
            yield entry.name, entry, (key, "nodes", index)
        return
    prefix = group.name_prefix or PREFIX[role]
    for number in range(1, (group.count or 0) + 1):
        name = f"{prefix}{number}"
        own = group.overrides.get(name)
        yield name, own, (key, "overrides", name) if own else (key,)


def install_disk_of(disk: DiskSize | DiskDevice | DiskSerial | None) -> InstallDisk | None:
    """The install disk that `disk` selects; None if it is a size."""
    match disk:
        case DiskDevice(path=path):
            return InstallDisk(device=path)
        case DiskSerial(serial=serial):
            return InstallDisk(serial=serial)
    return None


def _merged_values(group: NodeGroup, own: NodeOverride | None, defaults: dict[str, Any]) -> dict[str, Any]:
    """A node's own settings override its role's, those the defaults."""
    values = dict(defaults)
    for name in group.model_fields_set & NodeSettings.model_fields.keys():
        values[name] = getattr(group, name)
    if own is not None:
        for name in own.model_fields_set:
            values[name] = getattr(own, name)
        if own.labels and group.labels:
            values["labels"] = group.labels | own.labels
    return values


class _Maker:
    """Creates the nodes of one role."""

    def __init__(
        self,
        inventory: Inventory,
        layout: Layout[Any],
        network: ClusterNetwork,
        role: Role,
        findings: list[Finding],
    ) -> None:
        self.inventory = inventory
        self.layout = layout
        self.provider: ProviderSection = layout.section
        self.network = network
        self.role = role
        self.findings = findings

    def node(self, name: str, path: Path, values: dict[str, Any], patches: tuple[Patch, ...]) -> Node | None:
        network, layout = self.network, self.layout
        placement = layout.place(name, values.get("az"), values.get("host"), path, network.node_cidr)
        if isinstance(placement, Finding):
            self.findings.append(placement)
            return None
        ip = values.get("ip") or self._address(name, path, placement.subnet)
        if ip is None:
            return None
        disk_mib, install_disk = self._disks(values.get("disk"), values.get("disk_selector"))
        return Node(
            name=name,
            role=self.role,
            ip=ip,
            mac=values.get("mac_addr") or self._mac(name),
            vmid=values.get("vmid") or layout.vmid(name, self.role),
            fingerprint=values.get("fingerprint"),
            cpu=values.get("cpu"),
            ram_mib=values.get("ram"),
            disk_mib=disk_mib,
            extra_disks_mib=tuple(values.get("extra_disks") or ()),
            install_disk=install_disk,
            instance_type=values.get("instance_type") or layout.instance_type(self.role),
            zone=placement.zone,
            host=placement.host,
            subnet=placement.subnet,
            arch=values.get("arch") or "amd64",
            image=self._image(values),
            mtu=values.get("mtu") or network.mtu,
            vlan=values.get("vlan") or network.vlan,
            interface=values.get("interface"),
            bond=values.get("bond"),
            routes=tuple(values.get("routes") or ()),
            volumes=tuple(values.get("volumes") or ()),
            encrypt_disk=bool(values.get("encrypt_disk")),
            kernel_modules=tuple(values.get("kernel_modules") or ()),
            labels=values.get("labels") or {},
            taints=tuple(values.get("taints") or ()),
            patches=patches,
        )

    def _address(self, name: str, path: Path, subnet: IpNetwork | None) -> IpAddress | None:
        what, number = f"`{name}` has no address", number_of(name)
        if subnet is None:
            fix = "set its `ip`, or `network.node_cidr`"
            self.findings.append(error(path, what, "no `network.node_cidr` to derive it from", fix))
            return None
        if number is None:
            self.findings.append(
                error(path, what, "its name does not end in a number to derive it from", "set its `ip`")
            )
            return None
        key = "cp_ip_offset" if self.role == "controlplane" else "worker_ip_offset"
        offset = getattr(self.inventory.network, key) + number - 1
        address = address_at(subnet, offset)
        if address is None:
            what = f"`{name}` would get address {offset} of {subnet}, which has {subnet.num_addresses}"
            fix = "use a larger network, a smaller offset, or fewer nodes"
            self.findings.append(error(("network", key), what, "the offset is beyond the end of the network", fix))
        return address

    def _mac(self, name: str) -> str | None:
        return mac_of(name, self.role, self.inventory.mac_index) if self.provider.virtual else None

    def _disks(
        self, disk: DiskSize | DiskDevice | DiskSerial | None, selector: DiskSelector | None
    ) -> tuple[int | None, InstallDisk | None]:
        """The first disk's size, and the disk that Talos is installed on."""
        size = DEFAULT_DISK_MIB if self.provider.virtual else None
        if isinstance(disk, DiskSize):
            size = disk.mib
        if selector is not None:
            return size, InstallDisk(selector=selector)
        device = self.provider.install_device
        return size, install_disk_of(disk) or (InstallDisk(device=device) if device else None)

    def _image(self, values: dict[str, Any]) -> Image:
        image = self.inventory.image
        changes: dict[str, Any] = {}
        if values.get("schematic"):
            changes |= {"schematic": values["schematic"], "extensions": [], "kernel_args": []}
        if values.get("secureboot") is not None:
            changes["secureboot"] = values["secureboot"]
        return image.model_copy(update=changes) if changes else image
