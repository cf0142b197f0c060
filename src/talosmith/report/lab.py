"""Labs, their machines and faults as data for `-o json` and `-o yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def lab(name: str, status: Mapping[str, Any]) -> dict[str, Any]:
    """A stopped lab does not answer: all but its name and state is null."""
    known = {key: status.get(key) for key in ("clock", "seed", "network", "machines", "on", "faults")}
    return {
        "lab": name,
        "state": "running" if status["running"] else "stopped",
        "clock": known["clock"],
        "seed": known["seed"],
        "network": known["network"],
        "machines": known["machines"],
        "machines_on": known["on"],
        "faults": known["faults"],
        "etcd_clusters": [_etcd(one) for one in status["etcd"]] if "etcd" in status else None,
        "virtual_ips": [
            {"address": address, "machine": holder} for address, holder in status["virtual_addresses"].items()
        ]
        if "virtual_addresses" in status
        else None,
    }


def machine(found: Mapping[str, Any]) -> dict[str, Any]:
    disks = [{"device": one["device"], "size_bytes": one["size"], "serial": one["serial"]} for one in found["disks"]]
    return {**found, "disks": disks}


def _etcd(cluster: Mapping[str, Any]) -> dict[str, Any]:
    members = [
        {"machine": name, "state": "unreachable" if state == "cut off" else state}
        for name, state in cluster["members"].items()
    ]
    return {**cluster, "members": members}
