"""Changing the config of a VM over the API, at once (PUT) or in a task (POST)."""

from __future__ import annotations

import re

from .errors import failed, invalid, invalid_all
from .model import Volume
from .privileges import CONFIG_PRIVILEGES
from .routing import Call, Need, route
from .schema import Param, boolean, integer, string
from .tasks import Body, Task, TaskFailed
from .vm_changes import delete_option, new_drive, set_drive, set_nic, set_option, tidy_tags
from .vm_config import digest, drive
from .vm_create import options_table
from .vm_locks import config_lock_busy, refuse_skiplock
from .vm_options import is_drive, is_nic, option
from .vm_permissions import check_bridges, check_drives, check_options
from .world import Proxmox

_EXTRA: dict[str, Param] = {
    "delete": string(),
    "revert": string(),
    "digest": string(max_length=64),
    "skiplock": boolean(),
    "force": boolean(),
    "import-working-storage": string(),
}
_NEED = Need("/vms/{vmid}", CONFIG_PRIVILEGES)


class _Change:
    """A request to change a config, checked as far as possible without the lock."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.values = {
            name: value for name, value in call.parameters.items() if name not in (*_EXTRA, "background_delay")
        }
        self.deleted = _names(call.get("delete", ""))
        self.reverted = _names(call.get("revert", ""))
        self.errors: dict[str, str] = {}
        refuse_skiplock(call)
        for name in self.deleted:
            if option(name, ()) is None and name != "cpu":
                raise invalid(delete=f"unknown option '{name}'")
        if not (self.values or self.deleted or self.reverted):
            raise failed("no options specified")
        check_options(call, call.vmid, [*self.deleted, *self.values], self.values)
        self.vm = call.vm()
        self._check_deleted_drives()
        check_drives(call, call.vmid, self.values)
        check_bridges(call, self.values)

    def _check_deleted_drives(self) -> None:
        for name in self.deleted:
            if is_drive(name):
                cdrom = drive(name, str(self.vm.config.get(name, ""))).is_cdrom
                self.call.require(f"/vms/{self.vm.vmid}", "VM.Config.CDROM" if cdrom else "VM.Config.Disk")

    def lock(self) -> None:
        config_lock_busy(self.call, self.vm)
        wanted = self.call.get("digest")
        if wanted and wanted != digest(self.vm):
            raise failed("checksum mismatch (file change by other user?)")


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[,;\s]+", text) if name]


@route("PUT", "/nodes/{node}/qemu/{vmid}/config", options_table(_EXTRA), need=_NEED)
def update(call: Call) -> None:
    change = _Change(call)
    change.lock()
    silent = Task(call.node.name, 0, 0, 0, "", "", "")
    try:
        for _ in _apply(call.world, silent, change):
            pass
    except TaskFailed as problem:
        raise failed(str(problem)) from problem
    if change.errors:
        raise invalid_all(change.errors)


@route(
    "POST",
    "/nodes/{node}/qemu/{vmid}/config",
    options_table(_EXTRA | {"background_delay": integer(1, 30)}),
    need=_NEED,
)
def update_in_task(call: Call) -> str:
    change = _Change(call)
    change.lock()

    def body(task: Task) -> Body:
        given = {name: call.parameters[name] for name in call.parameters if name != "digest"}
        task.say(f"update VM {call.vmid}: " + " ".join(f"-{name} {value}" for name, value in given.items()))
        with call.world.flocks.held(call.vmid):
            yield call.world.pace.of("qmconfig")
            yield from _apply(call.world, task, change)
        if change.errors:
            raise TaskFailed("; ".join(f"{name}: {text}" for name, text in change.errors.items()))

    return call.task("qmconfig", call.vmid, body)


def _apply(world: Proxmox, task: Task, change: _Change) -> Body:
    vm = change.vm
    for name in change.reverted:
        vm.pending.pop(name, None)
        vm.pending_delete = [other for other in vm.pending_delete if other != name]
    for name in change.deleted:
        delete_option(world, vm, name, bool(change.call.get("force")))
    made: list[Volume] = []
    for name, value in change.values.items():
        if is_drive(name):
            one = drive(name, str(value))
            yield from new_drive(world, task, vm, one, made)
            set_drive(world, vm, one)
        elif is_nic(name):
            set_nic(world, vm, name, str(value), change.errors)
        else:
            set_option(vm, name, tidy_tags(str(value)) if name == "tags" else value)
