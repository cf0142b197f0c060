"""Obstacles to any change of a VM: locks, a cluster without quorum."""

from __future__ import annotations

from .errors import LockBusy, failed, invalid
from .model import VM
from .routing import Call


def check_quorum(call: Call) -> None:
    if not call.world.quorate:
        raise failed("cluster not ready - no quorum?")


def refuse_skiplock(call: Call) -> None:

    if call.get("skiplock") and not call.who.is_root:
        raise invalid(skiplock="Only root may use this option.")


def config_lock_busy(call: Call, vm: VM) -> None:
    """A call that changes a config: neither the lock file nor a lock in the config may be held."""
    if call.world.flocks.busy(vm.vmid):
        raise LockBusy(vm.vmid, 10.0)
    if vm.lock:
        raise failed(f"VM is locked ({vm.lock})")
