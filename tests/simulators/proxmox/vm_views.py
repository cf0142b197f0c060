"""VMs in answers: the current status, the list of a node, the list of the cluster that lags behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .model import VM
from .vm_config import Config, boot_order, drives, nic
from .volumes import size_of

if TYPE_CHECKING:
    from .world import Proxmox

_MIB = 1024 * 1024
_COUNTERS = [
    "rd_bytes",
    "rd_merged",
    "rd_operations",
    "rd_total_time_ns",
    "wr_bytes",
    "wr_highest_offset",
    "wr_merged",
    "wr_operations",
    "wr_total_time_ns",
    "unmap_bytes",
    "unmap_merged",
    "unmap_operations",
    "unmap_total_time_ns",
    "flush_operations",
    "flush_total_time_ns",
    "failed_rd_operations",
    "failed_wr_operations",
    "failed_unmap_operations",
    "failed_flush_operations",
    "failed_zone_append_operations",
    "invalid_rd_operations",
    "invalid_wr_operations",
    "invalid_unmap_operations",
    "invalid_flush_operations",
    "invalid_zone_append_operations",
    "zone_append_bytes",
    "zone_append_merged",
    "zone_append_operations",
    "zone_append_total_time_ns",
]
_BACKUP_SUPPORT = [
    "pbs-masterkey",
    "backup-fleecing",
    "pbs-dirty-bitmap-migration",
    "backup-access-api",
    "query-bitmap-info",
    "pbs-dirty-bitmap-savevm",
    "backup-max-workers",
    "pbs-dirty-bitmap",
]


def cpus(config: Config) -> int:
    return int(config.get("vcpus") or int(config.get("sockets", 1)) * int(config.get("cores", 1)))


def memory(config: Config) -> int:
    return int(str(config.get("memory", "512")).removeprefix("current=")) * _MIB


def boot_disk_size(vm: VM) -> int:
    """Of the first disk in the boot order, or else the first disk at all."""
    found = {
        one.option: one
        for one in drives(vm.config)
        if not one.is_cdrom and one.option not in ("efidisk0", "tpmstate0")
    }
    for option in [*boot_order(vm.config), *found]:
        if option in found and "size" in found[option].properties:
            return size_of(found[option].properties["size"])
    return 0


def _uptime(world: Proxmox, vm: VM) -> int:
    return int(world.now() - vm.started) if vm.status == "running" else 0


def row(world: Proxmox, vm: VM) -> dict[str, Any]:
    """In the list of a node."""
    view: dict[str, Any] = {
        "vmid": vm.vmid,
        "name": vm.name,
        "status": vm.status,
        "cpus": cpus(vm.config),
        "maxmem": memory(vm.config),
        "maxdisk": boot_disk_size(vm),
        "uptime": _uptime(world, vm),
    }
    view |= dict.fromkeys(("cpu", "mem", "disk", "netin", "netout"), 0) | ({"memhost": 0} if world.major >= 9 else {})
    view |= {name: vm.config[name] for name in ("tags", "lock", "template") if name in vm.config}
    if any(name.startswith("serial") for name in vm.config):
        view["serial"] = 1
    if vm.status == "running":
        view |= {"pid": vm.pid, "diskread": 0, "diskwrite": 0}
        if world.major >= 9:
            view |= {f"pressure{what}{how}": 0 for what in ("cpu", "io", "memory") for how in ("some", "full")}
    return view


def current(world: Proxmox, vm: VM) -> dict[str, Any]:
    managed = world.ha.get(f"vm:{vm.vmid}")
    view = row(world, vm) | {"ha": {"managed": int(managed is not None)}}
    if managed:
        view["ha"] |= {"state": managed.state}
    view["qmpstatus"] = "paused" if vm.paused else vm.status
    if agent_configured(vm):
        view["agent"] = 1
    if vm.status == "running":
        view |= _of_running(vm)
    return view


def agent_configured(vm: VM) -> bool:
    return str(vm.config.get("agent", "0")).removeprefix("enabled=").startswith("1")


def _of_running(vm: VM) -> dict[str, Any]:
    machine = str(vm.config.get("machine", "pc"))
    counters = dict.fromkeys(_COUNTERS, 0) | {"account_failed": True, "account_invalid": True, "timed_stats": []}
    blocks = [one.option for one in drives(vm.config) if one.option != "tpmstate0"]
    blocks += ["pflash0"] if vm.config.get("bios") == "ovmf" else []
    nics = [name for name in vm.config if name.startswith("net")]
    return {
        "running-machine": "pc-q35-10.2+pve0" if machine.startswith("q35") else "pc-i440fx-10.2+pve0",
        "running-qemu": "10.2.1",
        "proxmox-support": dict.fromkeys(_BACKUP_SUPPORT, True) | {"pbs-library-version": "0.0.0 (stub)"},
        "blockstat": {block: dict(counters) for block in blocks},
        "nics": {f"tap{vm.vmid}i{name[3:]}": {"netin": 0, "netout": 0} for name in nics},
    }


def resource(world: Proxmox, vm: VM) -> dict[str, Any]:
    """In the list of the cluster: current tags and lock, the rest as last reported by the node."""
    view: dict[str, Any] = {"id": f"qemu/{vm.vmid}", "type": "qemu", "vmid": vm.vmid, "node": vm.node}
    view |= {name: vm.config[name] for name in ("tags", "lock") if name in vm.config}
    for pool in world.pools.values():
        if vm.vmid in pool.vms:
            view["pool"] = pool.id
    managed = world.ha.get(f"vm:{vm.vmid}")
    if managed:
        view["hastate"] = managed.state
    told = world.listing(vm) if world.list_lag == 0 else vm.listed
    if told is None or not world.nodes[vm.node].online:
        return view | {"status": "unknown"}
    view |= {"name": told.name, "status": told.status, "maxcpu": told.cpus, "maxmem": told.maxmem}
    view |= {"maxdisk": told.maxdisk, "uptime": told.uptime, "template": told.template}
    view |= dict.fromkeys(("cpu", "mem", "disk", "diskread", "diskwrite", "netin", "netout"), 0)
    return view | ({"memhost": 0} if world.major >= 9 else {})


def missing_bridge(world: Proxmox, vm: VM, config: Config) -> str:
    """The first bridge of a config that the node does not have, or nothing."""
    known = world.nodes[vm.node].bridges
    for option in sorted(config):
        if option.startswith("net"):
            bridge = nic(str(config[option])).get("bridge", "")
            if bridge and bridge not in known:
                return bridge
    return ""
