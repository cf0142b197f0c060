"""Calls about a node: status, network, capabilities of QEMU."""

from __future__ import annotations

from typing import Any

from .cluster_calls import version_view
from .model import Bridge
from .routing import Call, route
from .schema import choice

_VERSIONS = [
    "10.2",
    "10.1",
    "10.0+pve1",
    "10.0",
    "9.2+pve1",
    "9.2",
    "9.1",
    "9.0",
    "8.2",
    "8.1",
    "8.0",
    "7.2",
    "7.1",
    "7.0",
    "6.2",
    "6.1",
    "6.0",
    "5.2",
    "5.1",
    "5.0",
    "4.2",
]
_CHANGES = {
    "10.0+pve1": "Set host_mtu vNIC option even with default value for migration compat.",
    "9.2+pve1": "Disables S3/S4 power states by default.",
}
_INTERFACES = (
    "bridge bond eth alias vlan fabric OVSBridge OVSBond OVSPort OVSIntPort vnet any_bridge any_local_bridge"
)
_BRIDGES = ("bridge", "OVSBridge")


@route("GET", "/nodes/{node}")
def index(call: Call) -> list[dict[str, str]]:
    return [{"name": name} for name in ("qemu", "storage", "network", "tasks", "status", "capabilities", "version")]


@route("GET", "/nodes/{node}/status", need=("/nodes/{node}", "Sys.Audit"))
def status(call: Call) -> dict[str, Any]:
    node = call.node
    release = "6.18.44-fc-v490"
    disk = {"total": node.disk_total, "used": node.disk_used, "free": node.disk_total - node.disk_used}
    memory = {"total": node.memory_total, "used": node.memory_used, "free": node.memory_free}
    if call.world.major >= 9:
        memory["available"] = node.memory_available
    return {
        "pveversion": f"pve-manager/{call.world.version}/mirror",
        "kversion": f"Linux {release} #1 SMP PREEMPT_DYNAMIC @0",
        "current-kernel": {
            "sysname": "Linux",
            "release": release,
            "version": "#1 SMP PREEMPT_DYNAMIC @0",
            "machine": "x86_64",
        },
        "boot-info": {"mode": "legacy-bios"},
        "uptime": int(call.world.now() - node.booted),
        "cpu": 0,
        "wait": 0,
        "idle": 0,
        "loadavg": ["0.16", "0.07", "0.00"],
        "ksm": {"shared": 0},
        "memory": memory,
        "swap": {"total": 0, "used": 0, "free": 0},
        "rootfs": disk | {"avail": disk["free"]},
        "cpuinfo": {
            "model": "AMD EPYC",
            "vendor": "AuthenticAMD",
            "family": "25",
            "mhz": "2596.146",
            "sockets": 1,
            "cores": node.cpus,
            "cpus": node.cpus,
            "user_hz": 100,
            "hvm": "1" if node.kvm else "",
            "flags": "fpu sse sse2 ssse3 sse4_1 sse4_2 aes avx avx2" + (" svm" if node.kvm else ""),
        },
    }


@route("GET", "/nodes/{node}/version")
def version(call: Call) -> dict[str, str]:
    return version_view(call)


@route("GET", "/nodes/{node}/time")
def time(call: Call) -> dict[str, Any]:
    now = int(call.world.now())
    return {"time": now, "localtime": now, "timezone": "Etc/UTC"}


@route("GET", "/nodes/{node}/dns")
def dns(call: Call) -> dict[str, Any]:
    return {"search": "simulated", "dns1": "127.0.0.1"}


@route("GET", "/nodes/{node}/network", {"type": choice(*_INTERFACES.split(), "include_sdn")})
def network(call: Call) -> list[dict[str, Any]]:
    """Bridges without privileges for the caller are left out."""
    wanted = call.get("type")
    rows = []
    for number, bridge in enumerate(call.node.bridges.values(), 4):
        if _wanted(bridge, wanted) and (bridge.type == "eth" or _visible(call, bridge)):
            rows.append(_row(bridge, number))
    return rows


def _wanted(bridge: Bridge, wanted: str | None) -> bool:
    if wanted in ("any_bridge", "include_sdn"):
        return bridge.type in (*_BRIDGES, "vnet")
    if wanted == "any_local_bridge":
        return bridge.type in _BRIDGES
    return wanted in (None, bridge.type) and (wanted is not None or bridge.type != "vnet")


def _visible(call: Call, bridge: Bridge) -> bool:
    path = f"/sdn/zones/{bridge.zone}/{bridge.name}"
    return call.may(path, "SDN.Audit", "SDN.Use") or call.may(f"/nodes/{call.node.name}", "Sys.Audit")


def _row(bridge: Bridge, priority: int) -> dict[str, Any]:
    if bridge.type == "vnet":
        return {"iface": bridge.name, "type": "vnet", "active": int(bridge.active)}
    view: dict[str, Any] = {"iface": bridge.name, "type": bridge.type, "autostart": 1, "priority": priority}
    view |= {"families": ["inet"], "method": "static" if bridge.address else "manual", "method6": "manual"}
    if bridge.active:
        view["active"] = 1
    if bridge.address:
        address, _, length = bridge.address.partition("/")
        view |= {"address": address, "netmask": length, "cidr": bridge.address}
    if bridge.type == "bridge":
        view |= {"bridge_ports": bridge.ports, "bridge_fd": "0", "bridge_stp": "off"}
        view |= {"bridge_vlan_aware": 1} if bridge.vlan_aware else {}
    return view


@route("GET", "/nodes/{node}/capabilities/qemu/cpu")
def cpu(call: Call) -> list[dict[str, Any]]:
    return [{"name": name, "vendor": vendor, "custom": custom} for name, vendor, custom in call.node.cpu_models]


@route("GET", "/nodes/{node}/capabilities/qemu/machines")
def machines(call: Call) -> list[dict[str, str]]:
    rows = []
    for number in _VERSIONS:
        for kind in ("i440fx", "q35"):
            change = {"changes": _CHANGES[number]} if number in _CHANGES else {}
            rows.append({"id": f"pc-{kind}-{number}", "type": kind, "version": number} | change)
    return rows
