"""Whether machines really run on a host: what it offers and what it can do are two things.

A host may offer KVM whose guests never execute an instruction: below another hypervisor, or with a broken module. So
a trial machine is started: without a disk, a network or a file, known as ours by its metadata, and gone when it ends
or when our connection does. It has nothing to boot, and its firmware is told to restart it then, which ends it. A
machine that ends in this way has executed its whole firmware; one that hangs, stops or dies has not.
"""

from __future__ import annotations

import threading
import time
import uuid as uuids
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any

from talosmith.model.machines import Owner
from talosmith.providers.libvirt.connection import Host, found, libvirt
from talosmith.providers.libvirt.domain import HOST_CPU, NAMESPACE, WHOLE_EMULATION, add_cpu
from talosmith.providers.libvirt.xml import child, parse, root, text_of

_TO_START = 20.0  # seconds; libvirt may be slow to ask QEMU what it can
_TO_RUN = 8.0  # seconds; KVM takes a tenth of one
_TO_RUN_EMULATED = 120.0  # seconds; it takes one, and a busy host many
_RAM_MIB = 32
_FIRMWARE_RESTARTS = ("x86_64", "i686")  # others have none that can be told to


@dataclass(frozen=True, slots=True)
class Trial:
    runs: bool | None  # None: it could not be tried
    evidence: str
    seconds: float = 0.0  # from its start to the end of its firmware


@dataclass(frozen=True, slots=True)
class Trials:
    """Each kind of machine is tried once."""

    host: Host
    owner: Owner
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _done: dict[tuple[str, str], Trial] = field(default_factory=dict)

    def of(self, hardware: Mapping[str, str]) -> Trial:
        """`hardware` as `Capabilities` tells it. In a worker thread; it takes seconds."""
        kind = hardware["kind"], hardware["arch"]
        with self._lock:
            if kind not in self._done:
                self._done[kind] = self._tried(hardware)
            return self._done[kind]

    def _tried(self, hardware: Mapping[str, str]) -> Trial:
        if hardware["arch"] not in _FIRMWARE_RESTARTS:
            return Trial(None, f"there is no trial for {hardware['arch']}")
        trial = self._tried_once(hardware)
        if trial.runs is None and hardware["kind"] == "kvm":
            # Anything may keep a machine from starting. Where an emulated one starts, it was KVM.
            model = hardware["cpu_model"].replace(HOST_CPU, WHOLE_EMULATION)
            emulated = {**hardware, "kind": "qemu", "cpu_model": model}
            if self._tried_once(emulated).runs:
                return replace(trial, runs=False)
        return trial

    def _tried_once(self, hardware: Mapping[str, str]) -> Trial:
        to_run = _TO_RUN if hardware["kind"] == "kvm" else _TO_RUN_EMULATED
        return try_out(self.host.uri, trial_machine(hardware, self.owner), to_run=to_run)


def trial_machine(hardware: Mapping[str, str], owner: Owner) -> str:
    uuid = str(uuids.uuid4())
    tree = root("domain", type=hardware["kind"])
    child(tree, "name", f"talosmith-trial-{uuid}")
    child(tree, "uuid", uuid)
    child(child(tree, "metadata"), f"{{{NAMESPACE}}}trial", cluster=owner.cluster, id=owner.id)
    child(tree, "memory", _RAM_MIB, unit="MiB")
    child(tree, "vcpu", 1)
    system = child(tree, "os")
    child(system, "type", "hvm", arch=hardware["arch"], machine=hardware["machine"] or None)
    child(system, "boot", dev="hd")
    child(system, "bios", rebootTimeout=0)
    child(child(tree, "features"), "acpi")
    add_cpu(tree, hardware["cpu_model"])
    for end in ("on_poweroff", "on_reboot", "on_crash"):
        child(tree, end, "destroy")
    devices = child(tree, "devices")
    child(devices, "controller", type="usb", model="none")
    child(devices, "memballoon", model="none")
    return text_of(tree)


def try_out(uri: str, machine: str, to_start: float = _TO_START, to_run: float = _TO_RUN) -> Trial:
    """By a connection of its own, in a thread of its own: libvirt does not say when a call will come back, and a
    machine that is started after all goes with that connection."""
    attempt = _Attempt(uri, machine, to_run)
    threading.Thread(target=attempt.make, name="trial machine", daemon=True).start()
    attempt.over.wait(to_start + to_run)
    return attempt.result or Trial(None, f"a trial machine had not started after {to_start + to_run:.0f} s")


class _Attempt:
    def __init__(self, uri: str, machine: str, to_run: float) -> None:
        self._uri, self._machine, self._to_run = uri, machine, to_run
        self._name = parse(machine).findtext("name", "")
        self._events: SimpleQueue[tuple[int, int]] = SimpleQueue()
        self.over = threading.Event()
        self.result: Trial | None = None

    def make(self) -> None:
        library = libvirt()
        try:
            connection = library.open(self._uri)
            try:
                self.result = self._watched(library, connection)
            finally:
                with suppress(library.libvirtError):
                    connection.close()
        except library.libvirtError as error:
            text = " ".join(str(error).removeprefix("internal error: ").split())
            self.result = Trial(None, f"a trial machine does not start: {text}")
        finally:
            self.over.set()

    def _watched(self, library: Any, connection: Any) -> Trial:
        watch = connection.domainEventRegisterAny(None, library.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._happened, None)
        try:
            domain = connection.createXML(self._machine, library.VIR_DOMAIN_START_AUTODESTROY)
            try:
                return self._run(library, domain)
            finally:
                with suppress(library.libvirtError):  # it is gone if all is well
                    domain.destroy()
        finally:
            with suppress(library.libvirtError):
                connection.domainEventDeregisterAny(watch)

    def _happened(self, connection: Any, domain: Any, event: int, detail: int, opaque: Any) -> None:
        if domain.name() == self._name:
            self._events.put((event, detail))

    def _run(self, library: Any, domain: Any) -> Trial:
        began = time.monotonic()
        while (left := began + self._to_run - time.monotonic()) > 0:
            try:
                event, detail = self._events.get(timeout=left)
            except Empty:
                break
            seconds = time.monotonic() - began
            after = f"after {seconds:.1f} s"
            if event == library.VIR_DOMAIN_EVENT_STOPPED:
                if detail == library.VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN:
                    return Trial(True, f"a trial machine ran its firmware in {seconds:.1f} s", seconds)
                return Trial(False, f"QEMU ended {after} with a trial machine whose firmware had not run to its end")
            if event == library.VIR_DOMAIN_EVENT_SUSPENDED:
                return Trial(False, f"QEMU stopped a trial machine {after}, as it does when KVM fails within it")
        used = found(lambda: domain.info()[4] / 1e9) or 0.0
        return Trial(
            False, f"a trial machine did not get through its firmware in {self._to_run:.0f} s ({used:.1f} s of CPU)"
        )
