"""Real guests behind the VMs of the simulated Proxmox VE: a QEMU process for each VM that runs.

What a guest boots is what went through the API: its first disk is a copy of the uploaded image, of the size that the
VM's config says, and its CD is the uploaded seed. Guests are on a bridge in a network namespace of the test's own.
They are emulated, so tests are the same with and without KVM. Disks and the CD hang on virtio instead of SCSI and
IDE: the small guest has drivers for nothing else.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from tests.real.libvirt.daemon import Daemon
from tests.real.talos.linux import die_with_parent
from tests.simulators.proxmox import VM, Proxmox
from tests.simulators.proxmox.vm_config import Drive, drives, nic
from tests.simulators.proxmox.vm_views import cpus, memory

_MIB = 1024 * 1024
_SEED_DRIVE = "ide2"
_SECONDS = 5.0  # for an answer; who gets none asks again


@dataclass
class Guest:
    """Of one VM, from its first start until it is destroyed."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None
    command: list[str] = field(default_factory=list)

    def run(self) -> None:
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen(self.command, stdout=output, stderr=output, preexec_fn=_die_with_us)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def console(self) -> str:
        """What the guest wrote there, and what QEMU said before."""
        files = [self.folder / name for name in ("output", "console")]
        return "".join(file.read_text(errors="replace") for file in files if file.exists())


class QemuGuests:
    """Implements `Guests`. A guest that has been killed is gone at once, and with it its process."""

    def __init__(self, world: Proxmox, network: Network, folder: Path) -> None:
        self._world, self._network, self._folder = world, network, folder
        self.all: dict[int, Guest] = {}
        world.guests = self

    # Called by the simulator

    def started(self, vm: VM) -> None:
        guest = self.all.setdefault(vm.vmid, Guest(self._folder / str(vm.vmid)))
        guest.folder.mkdir(exist_ok=True)
        guest.kill()
        guest.command = self._command(vm, guest.folder)
        guest.run()

    def stopped(self, vm: VM) -> None:
        self.all[vm.vmid].kill()

    def destroyed(self, vm: VM) -> None:
        if guest := self.all.pop(vm.vmid, None):
            guest.kill()
            shutil.rmtree(guest.folder)

    def end(self) -> None:
        for guest in self.all.values():
            guest.kill()

    # The virtual machine

    def _command(self, vm: VM, folder: Path) -> list[str]:
        card = nic(str(vm.config["net0"]))
        uuid = str(vm.config["smbios1"]).partition("uuid=")[2].partition(",")[0]
        found = drives(vm.config)
        disks = sorted((one for one in found if _is_disk(one)), key=lambda one: int(one.option.removeprefix("scsi")))
        words = [
            *self._network.entering,
            *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-accel", "tcg", "-cpu", "max"),
            *("-machine", "q35", "-display", "none", "-boot", "strict=on", "-uuid", uuid),
            *("-smp", str(cpus(vm.config)), "-m", str(memory(vm.config) // _MIB)),
            *("-serial", f"file:{folder / 'console'}"),
            *("-netdev", f"tap,id=net0,ifname=tap{vm.vmid}i0,script={self._network.plug},downscript=no"),
            *("-device", f"virtio-net-pci,netdev=net0,mac={card['macaddr']},romfile="),
        ]
        for number, one in enumerate(disks):
            words += ["-drive", f"if=none,id=disk{number},format=raw,file={self._disk(vm, one, folder)}"]
            words += ["-device", f"virtio-blk-pci,drive=disk{number},bootindex={number}"]
        (cd,) = [one for one in found if one.option == _SEED_DRIVE]
        seed = None if cd.file == "none" else self._world.volume_path(cd.file, vm.node)
        medium = f",readonly=on,format=raw,file={seed}" if seed else ""
        words += ["-drive", f"if=none,id=seed,media=cdrom{medium}"]
        return [*words, "-device", "virtio-scsi-pci", "-device", "scsi-cd,drive=seed"]

    def _disk(self, vm: VM, one: Drive, folder: Path) -> Path:
        """As it was when the guest ran last, and as large as the VM's disk is now."""
        volume = self._world.volumes.find(one.file, vm.node)
        assert volume is not None, f"{one.file} does not exist"
        disk = folder / f"{one.option}.raw"
        if not disk.exists() and volume.origin is not None:
            image = self._world.volume_path(one.file, vm.node)
            subprocess.run(["qemu-img", "convert", "-O", "raw", image, disk], check=True)
        with disk.open("ab") as file:
            file.truncate(volume.virtual_size)
        return disk


def _is_disk(one: Drive) -> bool:
    return one.option.startswith("scsi") and not one.is_cdrom


def _die_with_us() -> None:
    die_with_parent(signal.SIGKILL)


# The network


@dataclass(frozen=True, slots=True)
class Network:
    """A network namespace with the bridge of the VMs, on which this computer has an address."""

    folder: Path
    namespace: Daemon  # of which only the network is there

    @property
    def entering(self) -> list[str]:
        return ["nsenter", f"--net={self.namespace.network}"]

    @property
    def plug(self) -> Path:
        """A program that connects a tap device with the bridge."""
        return self.folder / "plug"

    def ask(self, address: str) -> dict[str, str]:
        """What the guest says of itself; OSError if it does not."""

        def there() -> str:
            try:
                with urllib.request.urlopen(f"http://{address}/", timeout=_SECONDS) as answer:
                    return str(answer.read().decode())
            except HTTPException as cut_off:
                raise OSError(str(cut_off)) from None

        told = self.namespace.in_network(there)
        return {name: value.strip() for name, _, value in (line.partition(" ") for line in told.splitlines())}


@contextmanager
def guest_network(address: str, bridge: str = "vmbr0") -> Iterator[Network]:
    """`address`: of this computer, with the prefix length. The namespace ends with the process that holds it."""
    folder = Path(tempfile.mkdtemp(prefix="pve-"))
    (folder / "plug").write_text(f'#!/bin/sh\nexec ip link set "$1" master {bridge} up\n')
    (folder / "plug").chmod(0o755)
    script = (
        f"ip link set lo up && ip link add {bridge} type bridge && ip link set {bridge} up && "
        f"ip address add {address} dev {bridge} && echo ready && exec sleep infinity"
    )
    held = ["unshare", "--net", "sh", "-c", script]
    process = subprocess.Popen(held, stdout=subprocess.PIPE, preexec_fn=_die_with_us)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n", "a network namespace needs root on Linux"
        (folder / "pid").write_text(str(process.pid))
        yield Network(folder, Daemon(folder))
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def exists(process: int) -> bool:
    """Also as one that has ended and that nobody has asked for."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
