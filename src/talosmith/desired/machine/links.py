"""A node's network: card, bond, VLAN, addresses, routes, the VIP, name servers, clocks.

Up to Talos 1.11 all of it is one section of the main document; from 1.12 on each is a document of its own. Where the
provider or DHCP gives the address, only what must be said is said: one link document too many would switch off DHCP
on every other card.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.model.cluster import Cluster, Node
from talosmith.model.settings import Bond

ALIAS = "net0"  # what the card with the node's MAC address is called in documents
BOND = "bond0"
SINCE_DOCUMENTS = (1, 12)

Document = dict[str, Any]


def network_documents(cluster: Cluster, node: Node) -> Iterator[Document]:
    """Documents of Talos 1.12 and later."""
    link = node.interface or ALIAS
    if node.bond is None and node.interface is None and node.mac is not None and _speaks_of_its_card(cluster, node):
        yield document("LinkAliasConfig", name=ALIAS, selector={"match": f'mac(link.permanent_addr) == "{node.mac}"'})
    static = cluster.network.addressing == "static"
    if node.bond is not None:
        link = BOND
        members = {"links": list(node.bond.interfaces), "bondMode": node.bond.mode, **_bond_options(node.bond)}
        yield document("BondConfig", name=link, **members, **_link_settings(cluster, node, static=static))
    elif static or node.mtu is not None:
        yield document("LinkConfig", name=link, **_link_settings(cluster, node, static=static))
    if node.vlan is not None:
        parent, link = link, f"{link}.{node.vlan}"
        settings = _addressing(cluster, node) if static else {}
        yield document("VLANConfig", name=link, vlanID=node.vlan, parent=parent, **settings)
    if not static and (node.bond is not None or node.vlan is not None or node.mtu is not None):
        yield document("DHCPv4Config", name=link)
    if _holds_vip(cluster, node):
        yield document("Layer2VIPConfig", name=str(cluster.network.vip), link=link)


def resolver_documents(cluster: Cluster) -> Iterator[Document]:
    network = cluster.network
    if network.dns_servers:
        yield document("ResolverConfig", nameservers=[{"address": str(one)} for one in network.dns_servers])
    if network.ntp_servers:
        yield document("TimeSyncConfig", ntp={"servers": list(network.ntp_servers)})


def network_section(cluster: Cluster, node: Node) -> dict[str, Any]:
    """`machine.network` of Talos up to 1.11."""
    section: dict[str, Any] = {"hostname": node.name}
    static = cluster.network.addressing == "static"
    if not (_speaks_of_its_card(cluster, node) or node.bond is not None):
        return section
    settings: dict[str, Any] = {"dhcp": not static}
    if static:
        settings |= {"addresses": [_own_address(cluster, node)], "routes": _old_routes(cluster, node)}
    if _holds_vip(cluster, node):
        settings["vip"] = {"ip": str(cluster.network.vip)}
    interface: dict[str, Any] = _old_selector(node)
    if node.bond is not None:
        interface["bond"] = {
            "interfaces": list(node.bond.interfaces),
            "mode": node.bond.mode,
            **_bond_options(node.bond),
        }
    if node.mtu is not None:
        interface["mtu"] = node.mtu
    if node.vlan is not None:
        interface |= {"dhcp": False, "vlans": [{"vlanId": node.vlan, **settings}]}
    else:
        interface |= settings
    section["interfaces"] = [interface]
    return section


def old_resolver_fields(cluster: Cluster) -> dict[str, Any]:
    """`machine.network.nameservers` and `machine.time` of Talos up to 1.11."""
    network, fields = cluster.network, dict[str, Any]()
    if network.dns_servers:
        fields["network"] = {"nameservers": [str(address) for address in network.dns_servers]}
    if network.ntp_servers:
        fields["time"] = {"servers": list(network.ntp_servers)}
    return fields


def _speaks_of_its_card(cluster: Cluster, node: Node) -> bool:
    needed = node.mtu is not None or node.vlan is not None
    return cluster.network.addressing == "static" or needed or _holds_vip(cluster, node)


def _holds_vip(cluster: Cluster, node: Node) -> bool:
    return node.role == "controlplane" and cluster.network.vip is not None


def _own_address(cluster: Cluster, node: Node) -> str:
    network = node.subnet or cluster.network.node_cidr
    return f"{node.ip}/{network.prefixlen if network else node.ip.max_prefixlen}"


def _link_settings(cluster: Cluster, node: Node, *, static: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {"up": True}
    if node.mtu is not None:
        settings["mtu"] = node.mtu
    return settings | (_addressing(cluster, node) if static and node.vlan is None else {})


def _addressing(cluster: Cluster, node: Node) -> dict[str, Any]:
    routes: list[dict[str, Any]] = []
    if cluster.network.gateway is not None:
        routes.append({"gateway": str(cluster.network.gateway)})
    for route in node.routes:
        routes.append({"destination": str(route.to), "gateway": str(route.via)})
        if route.metric is not None:
            routes[-1]["metric"] = route.metric
    return {"addresses": [{"address": _own_address(cluster, node)}], "routes": routes}


def _old_routes(cluster: Cluster, node: Node) -> list[dict[str, Any]]:
    everything = "0.0.0.0/0" if node.ip.version == 4 else "::/0"
    return [
        {"network": route.pop("destination", everything), **route} for route in _addressing(cluster, node)["routes"]
    ]


def _old_selector(node: Node) -> dict[str, Any]:
    if node.bond is not None:
        return {"interface": BOND}
    if node.interface is not None:
        return {"interface": node.interface}
    # VLANs have the MAC address of their card; only the card itself is physical.
    return {"deviceSelector": {"hardwareAddr": node.mac, "physical": True}}


def _bond_options(bond: Bond) -> dict[str, Any]:
    options = {"lacpRate": bond.lacp_rate, "xmitHashPolicy": bond.xmit_hash_policy, "miimon": bond.miimon}
    return {key: value for key, value in options.items() if value is not None}


def document(kind: str, **fields: Any) -> Document:
    return {"apiVersion": "v1alpha1", "kind": kind, **fields}
