"""The names and functions that expressions in machine configs may use, by the place where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Environment:
    names: Mapping[str, str]
    functions: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    result: str = "bool"
    optionals: bool = False


def _fields(**by_type: str) -> dict[str, str]:
    return {
        name: of.replace("_of_", "(") + (")" if "_of_" in of else "")
        for of, names in by_type.items()
        for name in names.split()
    }


OBJECTS: dict[str, dict[str, str]] = {
    "disk": _fields(
        uint="size io_size sector_size",
        bool="readonly rotational cdrom",
        string="model serial modalias wwid bus_path sub_system transport dev_path pretty_size uuid",
        list_of_string="secondary_disks symlinks",
    ),
    "volume": _fields(
        uint="size sector_size io_size block_size filesystem_block_size probed_size partition_index offset",
        string="name uuid label partition_uuid partition_type partition_label type device_path parent dev_path"
        " parent_dev_path pretty_size",
    ),
    "link": _fields(
        uint="index link_index flags mtu master_index",
        int="type operational_state port duplex speed_megabits",
        bool="link_state",
        bytes="hardware_addr broadcast_addr permanent_addr",
        string="queue_disc kind slave_kind bus_path pciid driver driver_version firmware_version product_id vendor_id"
        " product vendor alias",
        list_of_string="alt_names",
        dyn="vlan bridge_master bond_master wireguard vrf_master",
    ),
}

_UNITS = dict.fromkeys(("KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kB", "MB", "GB", "TB", "PB", "EB"), "uint")
_CLASSES = dict.fromkeys(("Besteffort", "Burstable", "Guaranteed", "Podruntime", "System"), "int")
_GLOB = {"glob": (("string", "string"), "bool")}
_PER_CLASS = "map(int,double)"
_PRESSURE = [f"memory_{kind}_{span}" for kind in ("some", "full") for span in ("avg10", "avg60", "avg300", "total")]

ENVIRONMENTS: dict[str, Environment] = {
    "disk": Environment({"disk": "disk", "system_disk": "bool", **_UNITS}, _GLOB),
    "volume": Environment({"volume": "volume", "disk": "disk", **_UNITS}),
    "member": Environment(
        {"volume": "volume", "disk": "disk", "volume_id": "string", "system_disk": "bool", **_UNITS}, _GLOB
    ),
    "link": Environment({"link": "link"}, {**_GLOB, "mac": (("bytes",), "string")}),
    "oom-trigger": Environment(
        {
            **{change + name: "double" for change in ("", "d_") for name in _PRESSURE},
            **{f"{change}qos_{name}": _PER_CLASS for change in ("", "d_") for name in _PRESSURE},
            **{
                f"{change}qos_memory_{what}": _PER_CLASS
                for change in ("", "d_")
                for what in ("current", "peak", "max")
            },
            "time_since_trigger": "duration",
            **_UNITS,
            **_CLASSES,
        },
        {"multiply_qos_vectors": (("map(dyn,double)", "map(dyn,double)"), "double")},
        optionals=True,
    ),
    "oom-ranking": Environment(
        {
            **dict.fromkeys(("memory_max", "memory_current", "memory_peak"), "optional(uint)"),
            "path": "string",
            "class": "int",
            **_UNITS,
            **_CLASSES,
        },
        result="double",
        optionals=True,
    ),
}
