"""State and time of a simulated Proxmox VE cluster."""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from .access import Access
from .clock import Agenda, Clock
from .cpu_models import CPU_MODELS
from .faults import Faults
from .model import CONTENT, VM, Bridge, HaResource, Listed, Node, Pool, Storage
from .pace import PaceName, pace_of
from .tasks import Flocks, Tasks
from .vm_views import boot_disk_size, cpus, memory
from .volumes import Volumes

_ADDRESS = "10.99.87.1/24"


class Guests(Protocol):
    """What stands behind VMs. Called by the server's thread, with the world's lock held: return soon."""

    def started(self, vm: VM) -> None:
        """Powered on. An exception fails the task that starts the VM."""

    def stopped(self, vm: VM) -> None:
        """Powered off, by whomever."""

    def destroyed(self, vm: VM) -> None: ...


class NoGuests:
    def started(self, vm: VM) -> None: ...

    def stopped(self, vm: VM) -> None: ...

    def destroyed(self, vm: VM) -> None: ...


class State:
    def __init__(
        self,
        nodes: Sequence[str] = ("pve",),
        version: str = "9.1.7",
        pace: PaceName = "instant",
        *,
        real_delays: bool = False,  # of refused tokens, locks and the guest agent, though the pace is instant
        guests: Guests | None = None,
        seed: int = 0,
    ) -> None:
        self.version = version
        self.major = int(version.partition(".")[0])
        self.mutex = threading.RLock()
        self.clock = Clock()
        self.agenda = Agenda(self.clock)
        self.pace = pace_of(pace, real_delays)
        self.guests: Guests = guests or NoGuests()
        self.random = random.Random(seed)  # noqa: S311
        self.nodes = {name: _node(name, number, self.now()) for number, name in enumerate(nodes)}
        self.storages: dict[str, Storage] = {storage.name: storage for storage in _storages()}
        self.volumes = Volumes()
        self.vms: dict[int, VM] = {}
        self.pools: dict[str, Pool] = {}
        self.ha: dict[str, HaResource] = {}
        self.ha_groups: dict[str, dict[str, Any]] = {}
        self.ha_rules: dict[str, dict[str, Any]] = {}
        self.quorate = True
        self.web: dict[str, bytes] = {}  # what nodes can download, by URL
        self.flocks = Flocks()
        self.tasks = Tasks(self.agenda, self.pace)
        self.faults = Faults(_flocks=self.flocks, _after=self.agenda.after)
        self.tasks.dying = self.faults.death_of
        self.access = Access(self.major, self.pools)
        self.tokens: dict[str, tuple[str, str]] = {}
        self.calls: list[tuple[str, str, str]] = []
        self.list_lag = 10.0  # seconds between the status daemons' reports; 0: the list of VMs is always up to date
        self.list_delay = 0.0  # seconds for which a new VM is not listed at all
        self._folder: Path | None = None
        self.agenda.after(self.list_lag, self._keep_reporting)
        self._prepare()

    def _prepare(self) -> None: ...

    def now(self) -> float:
        return self.clock.now()

    def freeze(self) -> None:
        """From now on time passes only by `pass_time`: a task stays in a state for as long as a test needs."""
        self.clock.freeze()

    def pass_time(self, seconds: float) -> None:
        with self.mutex:
            self.agenda.pass_time(seconds)

    def settle(self) -> None:
        """All tasks come to an end."""
        with self.mutex:
            while self.tasks.active() and (due := self.agenda.next_due()) is not None:
                self.agenda.pass_time(max(0.0, due - self.now()))

    def report(self) -> None:
        """What the status daemons of the nodes tell the cluster every ten seconds."""
        with self.mutex:
            for vm in self.vms.values():
                if self.nodes[vm.node].online:
                    vm.listed = self.listing(vm)

    def _keep_reporting(self) -> None:
        self.report()
        self.agenda.after(self.list_lag or 10.0, self._keep_reporting)

    def listing(self, vm: VM) -> Listed:
        up = int(self.now() - vm.started) if vm.status == "running" else 0
        size = boot_disk_size(vm)
        return Listed(vm.name, vm.status, cpus(vm.config), memory(vm.config), size, up, int(vm.template))

    @property
    def folder(self) -> Path:
        """Where large uploads are kept until the world is garbage."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="proxmox-simulator-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def mac(self) -> str:
        return "BC:24:11:" + ":".join(f"{self.random.randrange(256):02X}" for _ in range(3))

    def storage_digest(self) -> str:
        return hashlib.sha1(repr(sorted(self.storages)).encode(), usedforsecurity=False).hexdigest()


def _node(name: str, number: int, now: float) -> Node:
    node = Node(name, ip=f"10.99.86.{number + 2}", booted=now - 4600, cpu_models=list(CPU_MODELS))
    node.bridges["vmbr0"] = Bridge("vmbr0", address=_ADDRESS)
    return node


def _storages() -> list[Storage]:
    return [
        Storage("local", content=set(CONTENT), path="/var/lib/vz"),
        Storage("second", content={"images", "iso"}, path="/var/lib/vz2"),
        Storage("slow", content={"images"}, path="/var/lib/vzslow", bandwidth=400),
    ]
