"""The keys of an inventory and their types."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from talosmith.model.cluster import Role
from talosmith.model.disks import Disk
from talosmith.model.providers import Aws, Docker, Lab, Libvirt, Metal, Proxmox
from talosmith.model.section import Section, shorthand
from talosmith.model.services import Image, Services
from talosmith.model.settings import Bond, DiskSelector, KubernetesSettings, Route, TalosSettings, Volume
from talosmith.model.values import (
    Address,
    Fingerprint,
    FullVersion,
    Host,
    Interface,
    LabelKey,
    LabelValue,
    Mac,
    Memory,
    Mtu,
    Name,
    NamePrefix,
    Network,
    SchematicId,
    SizeMib,
    Taint,
    Vlan,
    wrong,
)


def _patch(value: Any) -> Any:
    if isinstance(value, dict) or (isinstance(value, str) and value):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) and "op" in item for item in value):
        return value
    raise wrong("this is not a patch", fix="a mapping to merge, a list of RFC 6902 operations, or a file's name")


PatchEntry = Annotated[
    Any,
    BeforeValidator(_patch),
    WithJsonSchema(
        {
            "type": ["object", "array", "string"],
            "description": "a mapping to merge, RFC 6902 operations, or a file's name inside the inventory's folder",
        }
    ),
]

Vmid = Annotated[int, Field(ge=100, le=999_999_999)]


class NodeSettings(Section):
    """Settings of one node, or of all nodes of a role."""

    cpu: Annotated[int, Field(ge=1, le=1024)] | None = None
    """virtual CPUs"""
    ram: Memory | None = None
    disk: Disk | None = None
    """size of the first disk (40G), or which disk Talos is installed on: device (/dev/sda) or serial number; a serial
    number that reads like something else is `{serial: …}`"""
    disk_selector: DiskSelector | None = None
    """which disk Talos is installed on, by model, size, bus …; instead of a device or serial number in `disk`"""
    extra_disks: list[SizeMib] | None = None
    """further disks of the machine"""
    instance_type: str | None = None
    """kind of machine on AWS, instead of the role's"""
    az: str | None = None
    """availability zone on AWS, instead of the next in turn"""
    host: str | None = None
    """Proxmox node that runs the machine, instead of the next in turn"""
    arch: Literal["amd64", "arm64"] | None = None
    schematic: SchematicId | None = None
    """image factory schematic, instead of the cluster's"""
    secureboot: bool | None = None
    encrypt_disk: bool | None = None
    """LUKS2 with keys in the TPM, for STATE and EPHEMERAL"""
    kernel_modules: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]] | None = None
    interface: Interface | None = None
    """network interface, by name; by its MAC address if left out"""
    bond: Bond | None = None
    """several network interfaces as one, instead of `interface`"""
    routes: list[Route] | None = None
    """besides the default route"""
    mtu: Mtu | None = None
    vlan: Vlan | None = None
    """VLAN tag that the node adds to its traffic"""
    volumes: list[Volume] | None = None
    """mounted at /var/mnt/<name>, from further disks"""
    labels: dict[LabelKey, LabelValue] | None = None
    """Kubernetes node labels; a node's own are added to those of its role"""
    taints: list[Taint] | None = None
    patches: list[PatchEntry] | None = None
    """applied last, after the cluster's and the role's"""


class NodeOverride(NodeSettings):
    """Settings of one counted node."""

    ip: Address | None = None
    mac_addr: Mac | None = None
    vmid: Vmid | None = None
    fingerprint: Fingerprint | None = None
    """of the certificate that the machine presents in maintenance mode, from its console; others are refused"""


class NodeEntry(NodeOverride):
    """One node of a list."""

    name: Name


class NodeGroup(NodeSettings):
    """All nodes of a role: a number of them, or a list. Further settings apply to each."""

    count: Annotated[int, Field(ge=0, le=50_000)] | None = None
    name_prefix: NamePrefix | None = None
    """prefix of counted nodes' names; `cp-` and `w-` if left out"""
    overrides: dict[str, NodeOverride] = {}
    """by name, for single counted nodes"""
    nodes: list[NodeEntry] | None = None


GROUP: dict[Role, str] = {"controlplane": "controlplane", "worker": "workers"}  # which block has the nodes of a role


def _group(value: Any) -> Any:
    if isinstance(value, list):
        return {"nodes": value}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"count": value}
    return {} if value is None else value


Nodes = Annotated[NodeGroup, shorthand(_group, int | list[NodeEntry] | NodeGroup | None)]


def _endpoint(value: str) -> str:
    found = re.fullmatch(r"(?:https://)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?/?", value)
    if not found or (found[2] and not 0 < int(found[2]) < 65536):
        fix = "for example https://k8s.example.org:6443"
        raise wrong(f"`{value}` is not the address of a Kubernetes API", why="it is always https", fix=fix)
    return value


class NetworkSection(Section):
    """Networks and addresses."""

    node_cidr: Network | None = None
    """network of the nodes; with it addresses are static, without it they come by DHCP reservation"""
    gateway: Address | None = None
    """default route of the nodes; the first address of node_cidr if left out"""
    dns_servers: list[Address] = []
    ntp_servers: list[Host] = []
    cp_ip_offset: Annotated[int, Field(ge=1)] = 10
    """offset of the first control plane's address in node_cidr"""
    worker_ip_offset: Annotated[int, Field(ge=1)] = 20
    vip: Address | None = None
    """virtual IP of the Kubernetes API, held by one control plane at a time"""
    endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    """where the Kubernetes API is reached; the VIP, or the only control plane, if left out"""
    cert_sans: list[Host] = []
    """additional SANs of the API certificates"""
    pod_cidr: Network = Field(default="10.244.0.0/16", validate_default=True)
    svc_cidr: Network = Field(default="10.96.0.0/12", validate_default=True)
    mtu: Mtu | None = None
    vlan: Vlan | None = None


# `metal:` with nothing after it names the provider; it must not read as "no provider".
_BARE = BeforeValidator(lambda value: {} if value is None else value)


class Inventory(Services):
    """A Talos cluster: its versions, networks, machines and services."""

    extends: str | None = None
    """folder of the inventory that this one extends, for example `../base`"""
    cluster_name: Name
    talos_version: FullVersion
    kubernetes_version: FullVersion
    mac_index: Annotated[int, Field(ge=0, le=255)] = 0
    """fifth byte of generated MAC addresses; clusters on one network need different ones"""
    network: NetworkSection = NetworkSection()  # whose defaults are read from text
    controlplane: Nodes = NodeGroup.model_construct()
    workers: Nodes = NodeGroup.model_construct()
    image: Image = Image.model_construct()
    kubernetes: KubernetesSettings = KubernetesSettings.model_construct()
    talos: TalosSettings = TalosSettings.model_construct()
    patches: list[PatchEntry] = []
    """for all nodes, after those of the folder `patches/`"""

    lab: Annotated[Lab | None, _BARE] = None
    libvirt: Annotated[Libvirt | None, _BARE] = None
    proxmox: Annotated[Proxmox | None, _BARE] = None
    aws: Annotated[Aws | None, _BARE] = None
    docker: Annotated[Docker | None, _BARE] = None
    metal: Annotated[Metal | None, _BARE] = None
