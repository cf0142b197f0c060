"""The output of `talosmith render` and `talosmith diff`: machine configs, talosconfig, seeds and images of a cluster.

Secrets are in the clear only in bytes for files; text for a terminal is redacted here, not by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from talosmith.desired import nocloud
from talosmith.desired.bundle import Bundle
from talosmith.desired.config.compare import difference
from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.config.redact import redact
from talosmith.desired.config.schema.documents import Document
from talosmith.desired.images import ImageRequest
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.machine.node import image_of
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.errors import TalosmithError, no_such
from talosmith.files.git import keep_out_of_git
from talosmith.files.regular import FileTrouble, read_content
from talosmith.files.secret import make_private_folder, write_secret
from talosmith.inventory.parse import Unreadable, decode
from talosmith.model.cluster import Cluster, ClusterNetwork, Node
from talosmith.model.secret import Secret

_SEED_ISO = "seed.iso"


def chosen(cluster: Cluster, names: Sequence[str]) -> list[Node]:
    """The nodes that are named, or all."""
    known = {node.name: node for node in cluster.nodes}
    for name in names:
        if name not in known:
            raise no_such("node", name, known)
    return [known[name] for name in names] if names else list(cluster.nodes)


def config_files(configs: MachineConfigs, nodes: Sequence[Node]) -> Iterator[tuple[str, bytes]]:
    """File name and content, in the clear."""
    for node in nodes:
        yield _config_name(node), configs.render(node).text.encode()


def _config_name(node: Node) -> str:
    return f"{node.name}.yaml"


def shown_config(configs: MachineConfigs, node: Node) -> str:
    """A node's config without its secrets."""
    return emit(redact(configs.render(node).documents))


def talosconfig_text(
    cluster: Cluster,
    bundle: Bundle,
    roles: Sequence[str],
    lifetime: timedelta,
    *,
    endpoints: Sequence[str] = (),
    now: datetime | None = None,
) -> bytes:
    """`endpoints`: where control planes are reached, if not at their own addresses; `nodes` keeps those addresses."""
    own = [str(node.ip) for node in cluster.controlplanes]
    made = new_talosconfig(
        cluster.name, bundle.os, roles=roles, lifetime=lifetime, endpoints=endpoints or own, nodes=own[:1], now=now
    )
    return made.to_text().reveal().encode()


def seed_files(configs: MachineConfigs, node: Node) -> dict[str, bytes]:
    """The NoCloud seed of a node, and the ISO made of it; in the clear."""
    files = nocloud.seed(node.name, configs.render(node).text, seed_networks(configs.cluster.network, node))
    return {**files, _SEED_ISO: nocloud.iso(files)}


def seed_networks(network: ClusterNetwork, node: Node) -> list[nocloud.SeedNetwork]:
    if network.addressing != "static":
        return []
    subnet = node.subnet or network.node_cidr
    return [
        nocloud.SeedNetwork(
            mac=node.mac or "",
            addresses=(f"{node.ip}/{subnet.prefixlen if subnet else node.ip.max_prefixlen}",),
            gateways=(str(network.gateway),) if network.gateway else (),
            nameservers=tuple(str(address) for address in network.dns_servers),
            mtu=node.mtu or 0,
            vlan=node.vlan or 0,
        )
    ]


def seed_iso(name: str, config: Secret | None, networks: list[nocloud.SeedNetwork]) -> bytes:
    """Without a config the machine waits for one, but already at its own address."""
    if config is not None:
        return nocloud.iso(nocloud.seed(name, config.reveal(), networks))
    files = {nocloud.META_DATA: nocloud.meta_data(name).encode()}
    if networks:
        files[nocloud.NETWORK_CONFIG] = nocloud.network_config(networks).encode()
    return nocloud.iso(files)


def images(cluster: Cluster, nodes: Sequence[Node]) -> dict[ImageRequest, list[str]]:
    """The different images of the nodes, each with the names of the nodes that boot it."""
    found: dict[ImageRequest, list[str]] = {}
    for node in nodes:
        found.setdefault(image_of(node, cluster.talos_version, cluster.provider.platform), []).append(node.name)
    return found


def write_configs(folder: Path, configs: MachineConfigs, nodes: Sequence[Node]) -> list[Path]:
    """Write the nodes' machine configs into a private folder that Git ignores."""
    keep_out_of_git(folder, [_config_name(node) for node in nodes])
    return write_files(folder, config_files(configs, nodes))


def write_seeds(folder: Path, configs: MachineConfigs, nodes: Sequence[Node]) -> list[Path]:
    """Write the nodes' NoCloud seeds, each into a folder of its own."""
    names = (nocloud.META_DATA, nocloud.USER_DATA, nocloud.NETWORK_CONFIG, _SEED_ISO)
    keep_out_of_git(folder, [f"{node.name}/{name}" for node in nodes for name in names])
    return [path for node in nodes for path in write_files(folder / node.name, seed_files(configs, node).items())]


def write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write into a folder of the user's alone, each file with mode 0600."""
    make_private_folder(folder)
    written = []
    for name, content in files:
        write_secret(folder / name, content)
        written.append(folder / name)
    return written


@dataclass(frozen=True, slots=True)
class Difference:
    """How a node's machine config differs from a file; no lines: they are equal."""

    node: str
    file: Path | None
    lines: tuple[str, ...] = ()


def differences(configs: MachineConfigs, nodes: Sequence[Node], folder: Path) -> Iterator[Difference]:
    """Rendered configs against files of an earlier day or of another tool; secrets masked, changed ones marked."""
    if not folder.is_dir():
        raise TalosmithError(f"{folder} is not a folder", hint="render one with `talosmith render configs --out DIR`")
    for node in nodes:
        file = _file_of(configs.cluster, node, folder)
        if file is None:
            yield Difference(node.name, None)
            continue
        found = _documents(file)
        names = (str(file), f"{node.name} now")
        yield Difference(node.name, file, tuple(difference(found, configs.render(node).documents, names, lines=2)))


def _documents(file: Path) -> list[Document]:
    """The documents of a rendered file. It may come from anywhere, so the limits of inventory files apply."""
    try:
        return load(decode(read_content(file), str(file)), str(file))
    except Unreadable as refused:
        raise ConfigError(list(refused.problems)) from None
    except FileTrouble as trouble:
        raise TalosmithError(f"{file} {trouble}", hint=trouble.fix) from None


def _file_of(cluster: Cluster, node: Node, folder: Path) -> Path | None:
    """The node's file, by the name talosmith or talhelper gives it, or by talosctl's for the whole role."""
    names = (f"{node.name}.yaml", f"{cluster.name}-{node.name}.yaml", f"{node.role}.yaml")
    return next((folder / name for name in names if (folder / name).is_file()), None)
