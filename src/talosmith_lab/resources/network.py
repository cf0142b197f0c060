"""Links, addresses, routes and names."""

from __future__ import annotations

import ipaddress

from talosmith_lab import naming
from talosmith_lab.machine import Machine
from talosmith_lab.resources.catalog import Made, makes
from talosmith_lab.services import time_synced
from talosmith_lab.world import World

LINK = "eth0"


def prefixes(world: World, machine: Machine) -> list[tuple[str, str]]:
    """Links and the prefixes on them, without loopback."""
    config = world.config(machine)
    given = {one.prefix.partition("/")[0]: one for one in config.addresses} if config else {}
    vips = naming.held_vips(world, machine)
    found = []
    for address in naming.addresses(world, machine):
        if address in given:
            found.append((given[address].link or LINK, given[address].prefix))
        else:
            length = 32 if address in vips else world.subnet.prefixlen
            found.append((LINK, f"{address}/{length}"))
    return found


@makes("LinkStatuses.net.talos.dev")
def links(world: World, machine: Machine) -> Made:
    for index, name in enumerate(dict.fromkeys(["lo", LINK, *(link for link, _ in prefixes(world, machine))]), 1):
        loopback = name == "lo"
        mac = "00:00:00:00:00:00" if loopback else machine.mac
        yield (
            name,
            {
                "index": index,
                "type": "loopback" if loopback else "ether",
                "linkIndex": 0,
                "flags": "UP,LOOPBACK,RUNNING,LOWER_UP" if loopback else "UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP",
                "hardwareAddr": mac,
                "permanentAddr": mac,
                "broadcastAddr": "00:00:00:00:00:00" if loopback else "ff:ff:ff:ff:ff:ff",
                "mtu": 65536 if loopback else 1500,
                "queueDisc": "noqueue" if loopback else "fq_codel",
                "operationalState": "unknown" if loopback else "up",
                "kind": "",
                "slaveKind": "",
                "driver": "" if loopback else "virtio_net",
                "linkState": True,
                "port": "Other",
                "duplex": "Unknown",
            },
        )


@makes("HardwareAddresses.net.talos.dev")
def hardware_addresses(world: World, machine: Machine) -> Made:
    yield "first", {"name": LINK, "hardwareAddr": machine.mac}


@makes("AddressStatuses.net.talos.dev")
def address_statuses(world: World, machine: Machine) -> Made:
    for link, prefix in [("lo", "127.0.0.1/8"), *prefixes(world, machine)]:
        address = ipaddress.ip_interface(prefix)
        yield (
            f"{link}/{prefix}",
            {
                "address": prefix,
                "local": str(address.ip),
                "linkIndex": 1 if link == "lo" else 2,
                "linkName": link,
                "family": f"inet{address.version}",
                "scope": "host" if link == "lo" else "global",
                "flags": "permanent",
                "priority": 0,
            },
        )


@makes("NodeAddresses.net.talos.dev")
def node_addresses(world: World, machine: Machine) -> Made:
    found = [prefix for _, prefix in prefixes(world, machine)]
    vips = naming.held_vips(world, machine)
    own = [prefix for prefix in found if prefix.partition("/")[0] not in vips]
    for id_, listed in (("default", own[:1]), ("current", found), ("routed", found), ("accumulative", found)):
        yield id_, {"addresses": listed, "sortAlgorithm": "v1"}


@makes("RouteStatuses.net.talos.dev")
def routes(world: World, machine: Machine) -> Made:
    for link, prefix in prefixes(world, machine)[:1]:
        gateway = str(ipaddress.ip_interface(prefix).network[1])
        yield (
            f"inet4/{gateway}//1024",
            {
                "family": "inet4",
                "dst": "",
                "src": "",
                "gateway": gateway,
                "outLinkIndex": 2,
                "outLinkName": link,
                "table": "main",
                "priority": 1024,
                "scope": "global",
                "type": "unicast",
                "flags": "",
                "protocol": "dhcp",
            },
        )


@makes("HostnameStatuses.net.talos.dev")
def hostnames(world: World, machine: Machine) -> Made:
    name, _, domain = naming.hostname(world, machine).partition(".")
    yield "hostname", {"hostname": name, "domainname": domain}


@makes("ResolverStatuses.net.talos.dev")
def resolvers(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    servers = list(config.nameservers) if config else ["1.1.1.1", "8.8.8.8"]
    yield "resolvers", {"dnsServers": servers, "searchDomains": []}


@makes("TimeServerStatuses.net.talos.dev")
def time_servers(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    yield "timeservers", {"timeServers": list(config.time_servers) if config else ["time.cloudflare.com"]}


@makes("TimeStatuses.v1alpha1.talos.dev")
def time_status(world: World, machine: Machine) -> Made:
    yield "node", {"synced": time_synced(world, machine), "epoch": 0, "syncDisabled": False}


@makes("NetworkStatuses.net.talos.dev")
def network_status(world: World, machine: Machine) -> Made:
    up = not world.active("lost-network", machine.name)
    yield (
        "status",
        {"addressReady": up, "connectivityReady": up, "hostnameReady": True, "etcFilesReady": True},
    )
