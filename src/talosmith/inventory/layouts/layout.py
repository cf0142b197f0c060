"""What resolving and the rules need from a provider; the defaults leave everything to the inventory.

Pure, and beside the inventory instead of in providers/: an inventory is read without the libraries of its provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from talosmith.inventory.findings import Finding
from talosmith.inventory.parse import Path
from talosmith.model.cluster import Role
from talosmith.model.providers import ProviderSection
from talosmith.model.values import IpAddress, IpNetwork

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved

Section = TypeVar("Section", bound=ProviderSection)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a machine goes: the network its address is counted from, and the zone or the host it runs in."""

    subnet: IpNetwork | None
    zone: str | None = None
    host: str | None = None


class Layout(Generic[Section]):
    settings: ClassVar[frozenset[str]] = frozenset()  # of nodes, that only some providers use
    node_network: ClassVar[Path] = ("network", "node_cidr")  # the key that sets the node network
    dhcp_advice: ClassVar[str] = "reserve each node's `ip` for its MAC address, which `talosmith show` lists"
    rules: ClassVar[
        tuple[Callable[[Any, Resolved], Iterator[Finding]], ...]
    ] = ()  # methods that check the provider's limits
    # How values are derived that the inventory does not set; `{numbered}`: by the number or the hash of the name.
    origins: Mapping[str, str] = MappingProxyType({})

    def __init__(self, section: Section) -> None:
        self.section = section

    def node_cidr(self, given: IpNetwork | None, cluster_name: str) -> IpNetwork | None:
        """The network of all nodes."""
        return given

    def vip(self, node_cidr: IpNetwork | None, controlplanes: int) -> IpAddress | None:
        """The VIP of the Kubernetes API where the inventory sets none."""
        return None

    def endpoint(self) -> str | Finding:
        """The host of the Kubernetes API; empty: the VIP, or the only control plane."""
        return ""

    def place(
        self, name: str, zone: str | None, host: str | None, path: Path, node_cidr: IpNetwork | None
    ) -> Placement | Finding:
        """The placement of the node `name` at `path` of the inventory, in the zone or on the host it sets."""
        return Placement(node_cidr)

    def instance_type(self, role: Role) -> str | None:
        return None

    def vmid(self, name: str, role: Role) -> int | None:
        return None

    def keeps(self, ip: IpAddress, subnet: IpNetwork) -> tuple[str, str]:
        """What the provider reserves an address for, and why; empty if nodes may have it."""
        return "", ""
