"""The cluster of an inventory, resolved and frozen: nothing is derived later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.model.providers import ProviderSection
from talosmith.model.services import AddonSettings, AddonStage, Image, Services
from talosmith.model.settings import Bond, DiskSelector, KubernetesSettings, Route, TalosSettings, Volume
from talosmith.model.values import IpAddress, IpNetwork
from talosmith.model.versions import Version

Role = Literal["controlplane", "worker"]
Addressing = Literal["static", "dhcp", "provider"]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of machine configs, strategic merge or RFC 6902 operations: the text of a file, or a value."""

    source: str  # file, or file and line for one that stands in the inventory itself
    text: str | None = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class InstallDisk:
    """Which disk Talos installs itself on."""

    device: str | None = None
    serial: str | None = None
    selector: DiskSelector | None = None

    def __str__(self) -> str:
        if self.selector is not None:
            criteria = self.selector.model_dump(exclude_none=True)
            return ", ".join(f"{key} {value}" for key, value in criteria.items())
        return self.device or f"serial {self.serial}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine, and the settings of Talos on it."""

    name: str
    role: Role
    ip: IpAddress
    mac: str | None  # None where the provider chooses it
    vmid: int | None = None
    fingerprint: str | None = None  # of its certificate in maintenance mode, where the user knows it
    cpu: int | None = None  # None for existing machines
    ram_mib: int | None = None
    disk_mib: int | None = None
    extra_disks_mib: tuple[int, ...] = ()
    install_disk: InstallDisk | None = None
    instance_type: str | None = None
    zone: str | None = None
    host: str | None = None  # of the provider's hosts, the one that runs the machine
    subnet: IpNetwork | None = None  # the part of the node network it is in
    arch: Literal["amd64", "arm64"] = "amd64"
    image: Image
    mtu: int | None = None
    vlan: int | None = None
    interface: str | None = None
    bond: Bond | None = None
    routes: tuple[Route, ...] = ()
    encrypt_disk: bool = False
    kernel_modules: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNetwork:
    """The networks, and how nodes get their addresses."""

    node_cidr: IpNetwork | None
    pod_cidr: IpNetwork
    svc_cidr: IpNetwork
    gateway: IpAddress | None
    vip: IpAddress | None
    addressing: Addressing
    dns_servers: tuple[IpAddress, ...] = ()  # empty: Talos' own choice
    ntp_servers: tuple[str, ...] = ()
    cert_sans: tuple[str, ...] = ()  # further names in the certificates of the APIs
    mtu: int | None = None
    vlan: int | None = None


ENDPOINT_TO_COME = "known-once-the-load-balancer-exists.invalid"  # RFC 2606: no name of this kind is ever given


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the Kubernetes API is reached."""

    host: str
    port: int = 6443

    @property
    def to_come(self) -> bool:
        """The provider chooses it when it creates the load balancer."""
        return self.host == ENDPOINT_TO_COME

    @property
    def shown(self) -> str:
        """For people: the URL, or why there is none."""
        return "the load balancer's own name, known once the load balancer exists" if self.to_come else self.url

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ChartPin:
    """A chart that is to be installed: `oci://…`, a name in a repository, or a path of this computer."""

    source: str  # `oci://host/path`, URL of a repository, or an absolute path
    version: str = ""  # empty for a path
    name: str = ""  # in a repository
    digest: str = ""  # of the archive, where the inventory pins it

    @property
    def is_local(self) -> bool:
        return self.source.startswith("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnabledAddon:
    """An add-on of the inventory with its chart, namespace and order."""

    name: str
    settings: AddonSettings
    reason: str  # which key of the inventory, or which other add-on, enables it
    namespace: str
    stage: AddonStage = "apps"
    chart: ChartPin | None = None
    manifests: str = ""  # absolute path
    after: tuple[str, ...] = ()  # enabled add-ons that are installed first


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The whole inventory, with every name, address, version and image known."""

    name: str
    talos_version: Version
    kubernetes_version: Version
    endpoint: Endpoint
    network: ClusterNetwork
    provider: ProviderSection
    nodes: tuple[Node, ...]  # control planes first, in the inventory's order
    services: Services
    kubernetes: KubernetesSettings
    talos: TalosSettings
    addons: dict[str, EnabledAddon] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()  # for all nodes, before those of the roles and of single nodes
    role_patches: dict[Role, tuple[Patch, ...]] = field(default_factory=dict)

    @property
    def controlplanes(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == "controlplane")

    @property
    def workers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == "worker")

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def patches_for(self, node: Node) -> Iterator[Patch]:
        """In the order they are applied: all nodes, the role, the node."""
        yield from self.patches
        yield from self.role_patches.get(node.role, ())
        yield from node.patches
