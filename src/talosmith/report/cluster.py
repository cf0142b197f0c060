"""A resolved cluster on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from talosmith.foreign_text import escaped_line
from talosmith.inventory.origins import Origin
from talosmith.model.cluster import Cluster, Node
from talosmith.report.data import plain
from talosmith.report.style import Style
from talosmith.report.table import table

_HEADER = (
    "NAME",
    "ROLE",
    "ADDRESS",
    "MAC",
    "VMID",
    "HOST",
    "ZONE",
    "TYPE",
    "CPU",
    "MEMORY",
    "DISK",
    "INSTALL ON",
    "IMAGE",
)
_HOW = {
    "static": "static addresses",
    "dhcp": "addresses by DHCP reservation",
    "provider": "addresses assigned by the provider",
}


def as_data(cluster: Cluster) -> dict[str, Any]:
    """Fields of kind Cluster. The settings of a provider do not tell which provider it is: its name is added."""
    data: dict[str, Any] = plain(cluster)
    data["provider"] = {"name": cluster.provider.name, "settings": data["provider"]}
    return data


def as_text(cluster: Cluster, style: Style) -> str:
    several = len({node.host for node in cluster.nodes}) > 1
    rows = [_row(node, node.host if several else "") for node in cluster.nodes]
    return "\n".join([*_head(cluster, style), "", *table(_HEADER, rows, style)])


def origins_as_text(origins: Iterable[Origin], style: Style) -> str:
    rows = [(origin.name, _value(origin.value), origin.source) for origin in origins]
    return "\n".join(table(("VALUE", "IS", "FROM"), rows, style))


def _head(cluster: Cluster, style: Style) -> Iterator[str]:
    network = cluster.network
    counts = f"{_count(len(cluster.controlplanes), 'control plane')}, {_count(len(cluster.workers), 'worker')}"
    yield f"{style.bold(cluster.name)}: {counts} on {cluster.provider.name}"
    facts = {
        "versions": f"Talos {cluster.talos_version}, Kubernetes {cluster.kubernetes_version}",
        "API": cluster.endpoint.shown + (f" (VIP {network.vip})" if network.vip else ""),
        "nodes": f"{network.node_cidr or 'no node network'}, {_HOW[network.addressing]}"
        + (f", gateway {network.gateway}" if network.gateway and network.addressing == "static" else ""),
        "pods": str(network.pod_cidr),
        "services": str(network.svc_cidr),
        "add-ons": ", ".join(cluster.addons),
        "patches": ", ".join(patch.source for patch in cluster.patches),
    }
    for name, value in facts.items():
        if value:
            yield f"  {style.dim(name.ljust(9))} {escaped_line(value)}"


def _row(node: Node, host: str | None) -> tuple[str, ...]:
    """`host`: where there are several."""
    return (
        node.name,
        node.role,
        str(node.ip),
        node.mac or "",
        str(node.vmid or ""),
        host or "",
        node.zone or "",
        node.instance_type or "",
        str(node.cpu or ""),
        size(node.ram_mib),
        " + ".join(size(mib) for mib in (node.disk_mib, *node.extra_disks_mib) if mib),
        str(node.install_disk or ""),
        _image(node),
    )


def _image(node: Node) -> str:
    image = node.image
    parts = [f"schematic {image.schematic[:8]}…" if image.schematic else ""]
    parts.append(_count(len(image.extensions), "extension") if image.extensions else "")
    parts.append("secure boot" if image.secureboot else "")
    return ", ".join(part for part in parts if part)


def size(mib: int | None) -> str:
    if not mib:
        return ""
    return f"{mib / 1024:g}G" if mib % 512 == 0 else f"{mib}M"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _value(value: object) -> str:
    data = plain(value)
    if isinstance(data, list):
        return ", ".join(str(item) for item in data)
    if isinstance(data, dict):
        return ", ".join(f"{key}={item}" for key, item in data.items() if item not in (None, [], {}))
    return str(data).lower() if isinstance(data, bool) else str(data)
