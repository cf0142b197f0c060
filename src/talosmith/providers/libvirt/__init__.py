"""Virtual machines on a libvirt host, here or elsewhere: nothing is installed on the host, and no login is needed."""

from __future__ import annotations

from talosmith.desired.machine.node import image_of
from talosmith.desired.outputs import seed_iso, seed_networks
from talosmith.desired.target import machine_spec
from talosmith.errors import Permanent
from talosmith.model.cluster import Cluster
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.providers import Libvirt
from talosmith.model.secret import Secret
from talosmith.providers.images import Source
from talosmith.providers.images.factory import factory_source
from talosmith.providers.libvirt.connection import Host
from talosmith.providers.libvirt.networks import Network, wanted
from talosmith.providers.libvirt.provider import LibvirtProvider
from talosmith.providers.libvirt.settings import LibvirtSettings

__all__ = ["LibvirtProvider", "libvirt_provider"]


def libvirt_provider(cluster: Cluster, section: Libvirt, owner: Owner) -> LibvirtProvider:
    secure = [node.name for node in cluster.nodes if node.image.secureboot]
    if secure:
        raise Permanent(
            f"Secure Boot is not supported on libvirt, and {', '.join(secure)} would need it",
            hint="set `image.secureboot: false`; `firmware: uefi` with `tpm: true` works without it",
        )

    def seed(spec: MachineSpec, config: Secret | None) -> bytes:
        return seed_iso(spec.name, config, seed_networks(spec.network, spec.node))

    def image(spec: MachineSpec) -> Source:
        if section.image:
            return Source(section.image, section.image_checksum or "")
        request = image_of(spec.node, spec.talos_version, section.platform)
        return factory_source(request, section.image_checksum or "", "libvirt.image")

    vip = str(cluster.network.vip or "")
    sources = tuple(dict.fromkeys(image(machine_spec(cluster, node)) for node in cluster.nodes))
    settings = LibvirtSettings(section, seed, image, _network(cluster, section, owner), vip=vip, sources=sources)
    return LibvirtProvider(owner, Host(section.uri), settings)


def _network(cluster: Cluster, section: Libvirt, owner: Owner) -> Network | None:
    network = cluster.network
    if section.make_network is None or section.bridge or network.node_cidr is None:
        return None
    gateway = str(network.gateway) if network.gateway else ""
    return wanted(section.network or "default", owner, section.make_network, network.node_cidr, gateway)
