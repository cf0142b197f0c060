"""A simulated Proxmox VE cluster behind its HTTP API, near enough to the real one to test a client against.

    world = Proxmox()
    with serving(world) as server:
        ...  # server.url, server.fingerprint, server.ca, world.tokens["root"]

It answers as a real Proxmox VE 9.1.7 did in `recorded.jsonl`; `tests/unit/simulators` replays that.
"""

from __future__ import annotations

from . import (  # noqa: F401  # the calls register themselves
    access_calls,
    agent_calls,
    cluster_calls,
    ha_calls,
    node_calls,
    pool_calls,
    storage_calls,
    task_calls,
    upload_calls,
    vm_calls,
    vm_clone,
    vm_create,
    vm_destroy,
    vm_power,
    vm_resize,
    vm_template,
    vm_update,
)
from .model import VM, Bridge, HaResource, Node, Pool, Storage, Volume
from .server import Server, serving
from .state import Guests
from .world import Proxmox

__all__ = [
    "VM",
    "Bridge",
    "Guests",
    "HaResource",
    "Node",
    "Pool",
    "Proxmox",
    "Server",
    "Storage",
    "Volume",
    "serving",
]
