"""The questions that `talosmith init` asks, in order: which one is next depends on the answers so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Any

from talosmith.inventory.answers import NEEDS_NETWORK, NEEDS_VIP, free_address
from talosmith.inventory.starter import NewInventory
from talosmith.model.providers import PROVIDERS

NOT_BUILT = "not built yet: configs only"
LIBVIRT_HOST = IPv4Interface("192.168.122.1/24")  # in the network `default` that libvirt installs
NO_ANSWER = "none"
HOME_NETWORK = "192.168.1.0/24"


@dataclass(frozen=True, slots=True)
class Question:
    answer: str
    text: str
    default: str | int | None = None

    @property
    def kind(self) -> type:
        return int if isinstance(self.default, int) else str


def next_question(given: Mapping[str, Any], name: str, libvirt_host: IPv4Interface = LIBVIRT_HOST) -> Question | None:
    """The first question without an answer; `name` is the cluster name to propose."""
    return next((one for one in _questions(given, name, libvirt_host) if one.answer not in given), None)


def _questions(given: Mapping[str, Any], name: str, libvirt_host: IPv4Interface) -> Iterator[Question]:
    yield Question("name", "Cluster name", name)
    yield Question("provider", "Provider", NewInventory.provider)
    provider = given.get("provider")
    yield Question("controlplanes", "Control planes (1, 3 or 5)", NewInventory.controlplanes)
    yield Question("workers", "Workers", NewInventory.workers)
    if provider in NEEDS_NETWORK:
        yield Question("node_cidr", "Node network", default_network(given, libvirt_host) or HOME_NETWORK)
    if provider in NEEDS_VIP and given.get("controlplanes", 1) > 1:
        network = given.get("node_cidr")
        yield Question(
            "vip", "VIP: a free address for the Kubernetes API", free_address(network) if network else None
        )
    if provider == "metal":
        yield Question("disk", "Install disk: device or serial number", "/dev/sda")
        yield Question("interface", "Network interface of the node address", "eth0")
    if provider == "proxmox":
        yield Question("proxmox_node", "Proxmox node that runs the machines", "pve")
        yield Question("proxmox_url", "Proxmox VE API URL", f"https://{given.get('proxmox_node', 'pve')}:8006")
    if provider == "aws":
        yield Question("region", "AWS region", "eu-central-1")
        text = "Domain in Route 53, the Kubernetes API is at k8s.<domain>; none: at the load balancer's own name"
        yield Question("domain", text, NO_ANSWER)


def default_network(given: Mapping[str, Any], libvirt_host: IPv4Interface = LIBVIRT_HOST) -> str | None:
    """The node network where the answers leave no doubt: machines attach to libvirt's network `default`."""
    return str(libvirt_host.network) if given.get("provider") == "libvirt" and not given.get("bridge") else None


def default_gateway(given: Mapping[str, Any], libvirt_host: IPv4Interface) -> str | None:
    """The host, in libvirt's own network, where that is not the first address; None: nothing to write."""
    network = libvirt_host.network
    if given.get("node_cidr") != default_network(given, libvirt_host) or libvirt_host.ip == network[1]:
        return None
    return str(libvirt_host.ip)


def providers() -> Iterator[tuple[str, str]]:
    """Name and description of each provider."""
    for name, section in PROVIDERS.items():
        text = (section.__doc__ or "").strip().splitlines()[0].rstrip(".")
        yield name, text if section.built else f"{text} ({NOT_BUILT})"
