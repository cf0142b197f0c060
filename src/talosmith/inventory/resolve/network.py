"""Where nodes live and where the Kubernetes API answers."""

from __future__ import annotations

from ipaddress import ip_network

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.numbers import lab_network_of
from talosmith.inventory.schema import Inventory
from talosmith.model.cluster import Addressing, ClusterNetwork, Endpoint, Node
from talosmith.model.providers import PROVIDERS, Aws, Lab, ProviderSection
from talosmith.model.values import IpAddress, IpNetwork

DOCKER_NETWORK = ip_network("10.5.0.0/24")
LAB_VIP_OFFSET = 5


def chosen_provider(inventory: Inventory) -> ProviderSection:
    """The one block that is there; the rules see to it that it is one."""
    given = [getattr(inventory, name) for name in PROVIDERS if getattr(inventory, name) is not None]
    return given[0] if given else Lab()


def resolve_network(inventory: Inventory, provider: ProviderSection) -> ClusterNetwork:
    said = inventory.network
    node_cidr = _node_cidr(inventory, provider)
    gateway, vip = said.gateway, said.vip
    if gateway is None and node_cidr is not None:
        gateway = address_at(node_cidr, 1)
    if vip is None and said.endpoint is None and isinstance(provider, Lab) and node_cidr is not None:
        vip = address_at(node_cidr, LAB_VIP_OFFSET) if _controlplanes(inventory) > 1 else None
    addressing: Addressing = "static" if node_cidr is not None else "dhcp"
    if provider.gives_addresses:
        addressing = "provider"
    return ClusterNetwork(
        node_cidr=node_cidr,
        pod_cidr=said.pod_cidr,
        svc_cidr=said.svc_cidr,
        gateway=gateway,
        vip=vip,
        addressing=addressing,
        dns_servers=tuple(said.dns_servers),
        ntp_servers=tuple(said.ntp_servers),
        cert_sans=tuple(said.cert_sans),
        mtu=said.mtu,
        vlan=said.vlan,
    )


def resolve_endpoint(
    inventory: Inventory,
    provider: ProviderSection,
    network: ClusterNetwork,
    nodes: tuple[Node, ...],
    findings: list[Finding],
) -> Endpoint | None:
    if _controlplanes(inventory) == 0:
        fix = "add `controlplane: 1`, or a list of nodes"
        findings.append(error(("controlplane",), "there is no control plane", "a cluster needs at least one", fix))
        return None
    if inventory.network.endpoint is not None:
        return _parse_endpoint(inventory.network.endpoint)
    if isinstance(provider, Aws):
        if provider.domain:
            return Endpoint(f"k8s.{provider.domain}")
        fix = "set `aws.domain` (the API is then at k8s.<domain>) or `network.endpoint`"
        findings.append(error(("aws",), "the Kubernetes API has no name to be reached at", fix=fix))
        return None
    if network.vip is not None:
        return Endpoint(str(network.vip))
    first = next((node for node in nodes if node.role == "controlplane"), None)
    return Endpoint(str(first.ip)) if first else None  # that it could not be resolved is told already


def address_at(network: IpNetwork, offset: int) -> IpAddress | None:
    return network[offset] if 0 <= offset < network.num_addresses else None


def _node_cidr(inventory: Inventory, provider: ProviderSection) -> IpNetwork | None:
    if isinstance(provider, Aws):
        return provider.vpc_cidr
    if inventory.network.node_cidr is not None or not provider.gives_addresses:
        return inventory.network.node_cidr
    return ip_network(lab_network_of(inventory.cluster_name)) if isinstance(provider, Lab) else DOCKER_NETWORK


def _controlplanes(inventory: Inventory) -> int:
    group = inventory.controlplane
    return len(group.nodes) if group.nodes is not None else group.count or 0


def _parse_endpoint(text: str) -> Endpoint:
    """The schema has checked its form."""
    rest = text.removeprefix("https://").rstrip("/")
    host, colon, port = rest.rpartition(":")
    if colon and port.isdigit() and not rest.endswith("]"):
        return Endpoint(host.strip("[]"), int(port))
    return Endpoint(rest.strip("[]"))
