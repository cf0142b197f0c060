"""The client of the Talos API: how talosmith, or anybody, talks to nodes.

    async with TalosClient.from_bundle(bundle) as client:
        node = client.node("10.5.0.2", "cp-1")
        print(await node.version(), await node.machine_status())
        swept = await sweep([client.node(address) for address in addresses], lambda node: node.etcd_status())

`TalosClient` is for the nodes of a cluster, `MaintenanceClient` for machines without a config. Each keeps one
connection per address open. Both hand out `TalosNode`, whose methods are the calls:

- the machine: version, hostname, load_average, memory, mounts, disks, wipe_disk, time
- config: apply_config, bootstrap, kubeconfig, client_config
- power: reboot, shutdown, reset, rollback, upgrade_legacy
- images and upgrades from Talos 1.13 on: image_pull, images, image_remove, upgrade, install
- services: services, service, service_start, service_stop, service_restart, containers
- etcd: etcd_members, etcd_status, etcd_remove, etcd_leave, etcd_forfeit, etcd_alarms, etcd_disarm, etcd_defragment,
  etcd_snapshot, etcd_snapshot_to, etcd_recover
- resources: get, list, watch, kind; and as types of their own: machine_status, watch_machine_status, links,
  addresses, node_addresses, members, nodename, system_disk, time_status, diagnostics, machine_config
- streams: events, logs, log_names, dmesg, read, read_file, boot_id, copy, list_files, cluster_health
- the connection: connect, fingerprint, close

Every call has a deadline and raises `TalosError`s only, each either `Temporary` or `Permanent`. Nothing is tried
again here: that is for the caller to decide, who knows whether asking twice is harmless. Results are plain frozen
dataclasses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talosmith.talos.address import Address
    from talosmith.talos.client import MaintenanceClient, TalosClient
    from talosmith.talos.configuration import Applied, ApplyMode
    from talosmith.talos.credentials import Credentials
    from talosmith.talos.errors import (
        AlreadyExists,
        ClockMismatch,
        Denied,
        Failed,
        InMaintenance,
        Invalid,
        NotFound,
        NotInMaintenance,
        NotReady,
        NotTalos,
        NotTrusted,
        Refused,
        TalosError,
        TooLarge,
        TooSlow,
        Unreachable,
        Unsupported,
    )
    from talosmith.talos.etcd import EtcdAlarm, EtcdMember, EtcdStatus
    from talosmith.talos.events import Event
    from talosmith.talos.grpc.caller import Limits
    from talosmith.talos.lifecycle import Image, Store
    from talosmith.talos.node import TalosNode
    from talosmith.talos.power import RebootMode, Wipe
    from talosmith.talos.resources import Change, ChangeKind, Resource
    from talosmith.talos.services import Container, Service
    from talosmith.talos.snapshot import Snapshot
    from talosmith.talos.sweeping import Swept, sweep
    from talosmith.talos.system import Disk, Memory, Mount, TimeReading, Version
    from talosmith.talos.views import Diagnostic, Link, LinkAddress, MachineStatus, Member, TimeStatus, Unmet

_HOMES = {  # which module has which names
    "address": "Address",
    "grpc.caller": "Limits",
    "client": "MaintenanceClient TalosClient",
    "configuration": "Applied ApplyMode",
    "credentials": "Credentials",
    "errors": (
        "AlreadyExists ClockMismatch Denied Failed InMaintenance Invalid NotFound NotInMaintenance "
        "NotReady NotTalos NotTrusted Refused TalosError TooLarge TooSlow Unreachable Unsupported"
    ),
    "etcd": "EtcdAlarm EtcdMember EtcdStatus",
    "events": "Event",
    "lifecycle": "Image Store",
    "node": "TalosNode",
    "power": "RebootMode Wipe",
    "resources": "Change ChangeKind Resource",
    "services": "Container Service",
    "snapshot": "Snapshot",
    "sweeping": "Swept sweep",
    "system": "Disk Memory Mount TimeReading Version",
    "views": "Diagnostic Link LinkAddress MachineStatus Member TimeStatus Unmet",
}
__all__ = [
    "Address",
    "AlreadyExists",
    "Applied",
    "ApplyMode",
    "Change",
    "ChangeKind",
    "ClockMismatch",
    "Container",
    "Credentials",
    "Denied",
    "Diagnostic",
    "Disk",
    "EtcdAlarm",
    "EtcdMember",
    "EtcdStatus",
    "Event",
    "Failed",
    "Image",
    "InMaintenance",
    "Invalid",
    "Limits",
    "Link",
    "LinkAddress",
    "MachineStatus",
    "MaintenanceClient",
    "Member",
    "Memory",
    "Mount",
    "NotFound",
    "NotInMaintenance",
    "NotReady",
    "NotTalos",
    "NotTrusted",
    "RebootMode",
    "Refused",
    "Resource",
    "Service",
    "Snapshot",
    "Store",
    "Swept",
    "TalosClient",
    "TalosError",
    "TalosNode",
    "TimeReading",
    "TimeStatus",
    "TooLarge",
    "TooSlow",
    "Unmet",
    "Unreachable",
    "Unsupported",
    "Version",
    "Wipe",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Imported when first asked for: who needs the messages only, or an error, does not wait for the rest."""
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
