"""The client of the Talos API: how talosmith, or any program, talks to nodes.

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
  addresses, node_addresses, members, nodename, system_disk, volumes, time_status, diagnostics, machine_config
- streams: events, logs, log_names, dmesg, read, read_file, boot_id, copy, list_files, cluster_health
- the connection: connect, fingerprint, close

Every call has a deadline and raises `TalosError`s only, each either `Temporary` or `Permanent`. Nothing is tried
again here: that is for the caller to decide, who knows whether asking twice is harmless. Results are plain frozen
dataclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.lazy import lookup

if TYPE_CHECKING:
    from talosmith.talos.address import *
    from talosmith.talos.client import *
    from talosmith.talos.configuration import *
    from talosmith.talos.credentials import *
    from talosmith.talos.errors import *
    from talosmith.talos.etcd import *
    from talosmith.talos.events import *
    from talosmith.talos.grpc.caller import *
    from talosmith.talos.lifecycle import *
    from talosmith.talos.node import *
    from talosmith.talos.power import *
    from talosmith.talos.resources import *
    from talosmith.talos.services import *
    from talosmith.talos.snapshot import *
    from talosmith.talos.sweeping import Swept as Swept
    from talosmith.talos.sweeping import sweep as sweep
    from talosmith.talos.system import *
    from talosmith.talos.views import *

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
    "views": "Diagnostic Link LinkAddress MachineStatus Member TimeStatus Unmet Volume",
}
__getattr__ = lookup(__name__, _HOMES)
