"""The supervisor of one node: starts its init in namespaces of its own, again after each reboot.

`python -m tests.real.talos.launcher NODE_FOLDER PARENT_PID`; the folder holds `node.json`. Each boot is
launcher → holder of the namespaces → init. Each dies with the one before it, and with init the kernel ends everything
in the node's pid namespace, so nothing of a node outlives the launcher.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.real.talos import linux
from tests.real.talos.node_mounts import build_root, keep_runtime_spec
from tests.real.talos.node_spec import STATE, NodeSpec

OWN = linux.NEW_MOUNTS | linux.NEW_CGROUPS | linux.NEW_UTS | linux.NEW_IPC | linux.NEW_NETWORK
CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_TIME = 16, 17, 25  # what would reach the machine, and no node needs
BETWEEN_BOOTS = 0.5


class RefusedToStart(Exception):
    """Init would have run outside of namespaces of its own, where it stops every process and reboots."""


def main(folder: Path, parent: int) -> int:
    linux.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the line above
        return 1
    spec = NodeSpec.load(folder)
    boots = 0
    while True:
        boots += 1
        _say(f"boot {boots}")
        how = _boot(spec, boots)
        _say(f"ended by {how}")
        if how != signal.SIGHUP.name:  # what reboot(2) becomes in a pid namespace; power off is SIGINT
            _write_state(spec, boots, None)
            return 0
        time.sleep(BETWEEN_BOOTS)


def _boot(spec: NodeSpec, boots: int) -> str:
    """Start the node once and wait for its end; returns the name of the signal that ended init, or its exit code."""
    ready, unshared = os.pipe()
    cabled, cable = os.pipe()
    holder = os.fork()
    if holder == 0:
        _exit_with(lambda: _hold_namespaces(spec, unshared, cabled))
    os.close(unshared)
    os.close(cabled)
    init = None
    if os.read(ready, 1):
        _plug_in(spec, holder)
        os.write(cable, b"!")
        init = int(os.read(ready, 16) or 0) or None
        _write_state(spec, boots, init)
    os.close(ready)
    os.close(cable)
    status = _wait(spec, holder, init)
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(code - 128).name if code > 128 else f"exit code {code}"


def _wait(spec: NodeSpec, holder: int, init: int | None) -> int:
    """The status with which the holder ended. Meanwhile the node's runtime spec is kept for the next boot."""
    while init is not None and not keep_runtime_spec(spec, Path(f"/proc/{init}/root")):
        ended, status = os.waitpid(holder, os.WNOHANG)
        if ended:
            return status
        time.sleep(BETWEEN_BOOTS)
    return os.waitpid(holder, 0)[1]


def _hold_namespaces(spec: NodeSpec, unshared: int, cabled: int) -> int:
    linux.die_with_parent(signal.SIGKILL)
    outside = machine_namespaces()
    Path(spec.cgroup, "cgroup.procs").write_text(str(os.getpid()))
    linux.unshare(OWN)
    os.write(unshared, b"!")
    os.read(cabled, 1)
    _configure_network(spec)
    linux.unshare(linux.NEW_PIDS)  # last: the next process that is started is the first of the namespace
    init = os.fork()
    if init == 0:
        os.close(unshared)
        os.close(cabled)
        _exit_with(lambda: _become_init(spec, outside))
    os.write(unshared, str(init).encode())
    _, status = os.waitpid(init, 0)
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _plug_in(spec: NodeSpec, holder: int) -> None:
    _ip(
        "-n", spec.hub, "link", "delete", spec.port, check=False
    )  # the kernel may not yet have swept up the last boot
    cable = ["link", "add", "eth0", "netns", str(holder), "address", spec.mac, "type", "veth"]
    _ip(*cable, "peer", "name", spec.port, "netns", spec.hub)
    _ip("-n", spec.hub, "link", "set", spec.port, "master", "switch", "up")


def _configure_network(spec: NodeSpec) -> None:
    _ip("link", "set", "lo", "up")
    _ip("address", "add", f"{spec.address}/{spec.prefix}", "brd", "+", "dev", "eth0")
    _ip("link", "set", "eth0", "up")
    _ip("route", "add", "default", "via", spec.gateway)


def _become_init(spec: NodeSpec, outside: dict[str, int]) -> int:
    linux.die_with_parent(signal.SIGKILL)
    linux.set_hostname(spec.name)
    build_root(spec)
    for capability in (CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_TIME):
        linux.drop_capability(capability)
    os.setsid()
    refuse_outside_a_node(outside)
    environment = {
        "PATH": "/usr/bin",
        "PLATFORM": "container",
        "TALOSSKU": "test",
        "HOSTNAME": spec.name,
        "container": "talosmith",
    }
    os.execve("/sbin/init", ["/sbin/init"], environment)  # noqa: S606 - the node's init, see above


def refuse_outside_a_node(outside: dict[str, int]) -> None:
    """Raise unless this is the first process of a pid namespace, with mounts of its own; `outside` is the machine."""
    same = [kind for kind, number in outside.items() if linux.namespace(kind) == number]
    if same or os.getpid() != 1:
        raise RefusedToStart(f"namespaces of the machine: {same}, process id {os.getpid()}")


def machine_namespaces() -> dict[str, int]:
    return {kind: linux.namespace(kind) for kind in ("pid", "mnt")}


def _write_state(spec: NodeSpec, boots: int, init: int | None) -> None:
    state = Path(spec.folder, STATE)
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps({"boots": boots, "init": init}))
    fresh.rename(state)


def _exit_with(work: Callable[[], int]) -> NoReturn:
    """End a forked process with what the work returns; it must never come back into the launcher's loop."""
    code = 99
    try:
        code = work()
    except Exception as problem:
        _say(repr(problem))
    finally:
        os._exit(code)


def _say(text: str) -> None:
    """A line on the node's console."""
    os.write(1, f"### {text}\n".encode())


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
