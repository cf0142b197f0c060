"""What a node does step by step: boot, install, reboot, reset, upgrade. The steps are data, with Talos' names.

A step takes time, or holds until something is so, and then does its work. How far a node is stands in its `Sequence`,
so that a lab that was killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from talosmith_lab.clock import Key, Wait
from talosmith_lab.machine import Machine, Sequence, Stage
from talosmith_lab.world import World


class SequenceFailed(Exception):
    """A step cannot be done; the sequence ends there."""


@dataclass(frozen=True, slots=True)
class Step:
    phase: str = ""  # without a name, nothing is told of it
    task: str = ""
    waits: tuple[Wait, ...] = ()
    act: str = ""  # what is done when the step is over
    hold: str = ""  # what must be so before it is over
    when: str = ""  # an argument of the sequence that must be true, or with `!` false; else the step is left out


_STOP = (
    Step("cleanup", "stopAllPods", ("stop",)),
    Step("stopServices", "stopServicesEphemeral", act="stop_ephemeral"),
    Step("stopEverything", "stopAllServices", ("stop",), act="stop_all"),
)
_STOP_FOR_GOOD = (Step("cleanup", "stopAllPods", ("stop", "poweroff")), *_STOP[1:])
_REBOOT = Step("reboot", "reboot", ("kexec",), act="restart")
_UPGRADE = Step("upgrade", "upgrade", ("pull", "install"), act="upgrade")
_DRAIN = Step("drain", "cordonAndDrainNode", when="drain")
UNATTENDED = "unattended-install"  # a controller's work, not a sequence of Talos: nothing is told of it
_SILENT = ("power", UNATTENDED)

SEQUENCES: Mapping[str, tuple[Step, ...]] = {
    "power": (Step(waits=("firmware",), act="start_kernel"),),
    UNATTENDED: (Step(waits=("pull", "install"), act="install_unattended"), Step(act="boot_installed")),
    "initialize": (
        Step("systemRequirements", "enforceKSPPRequirements", ("kernel",)),
        Step("earlyServices", "startMachined", act="start_early"),
        Step("meta", "reloadMeta"),
        Step("dashboard", "startDashboard", act="start_dashboard"),
        Step("config", "loadConfig", ("network",), act="load_config"),
    ),
    "install": (
        Step("install", "install", ("pull", "install"), act="install"),
        Step("stopEverything", "stopAllServices", ("stop",), act="stop_all"),
        _REBOOT,
    ),
    "boot": (
        Step("memorySizeCheck", "memorySizeCheck"),
        Step("diskSizeCheck", "diskSizeCheck"),
        Step("ephemeral", "mountEphemeralPartition", ("time",)),
        Step("userSetup", "writeUserFiles"),
        Step("startEverything", "startAllServices", act="booted", hold="services_up"),
    ),
    "reboot": (*_STOP, _REBOOT),
    "shutdown": (_DRAIN, *_STOP_FOR_GOOD, Step("shutdown", "shutdown", ("poweroff",), act="shut_down")),
    "upgrade": (_DRAIN, *_STOP[:2], _UPGRADE, _STOP[2], _REBOOT),
    "stageUpgrade": (*_STOP, _REBOOT),
    "reset": (
        _DRAIN,
        Step("leave", "leaveEtcd", act="leave_etcd", when="leave"),
        Step("preReset", "sendResetSignal"),
        *_STOP_FOR_GOOD,
        Step("reset", "resetSystemDisk", ("wipe",), act="wipe"),
        Step("reboot", "reboot", ("kexec",), act="restart", when="reboot"),
        Step("shutdown", "shutdown", ("poweroff",), act="shut_down", when="!reboot"),
    ),
}
STAGES: Mapping[str, Stage] = {
    "initialize": "booting", "boot": "booting", "install": "installing", "reboot": "rebooting",
    "shutdown": "shutting down", "upgrade": "upgrading", "stageUpgrade": "upgrading", "reset": "resetting",
}  # fmt: skip
_TAKES_OVER = {
    "initialize": ("reboot",),
    "boot": ("reboot", "reset", "upgrade", "stageUpgrade"),
    "reboot": ("reboot",),
    "reset": ("reboot",),
}

Action = Callable[[World, Machine, Mapping[str, Any]], None]
ACTIONS: dict[str, Action] = {}
HOLDS: dict[str, Callable[[World, Machine], bool]] = {}


def action(function: Action) -> Action:
    """Makes a function known to steps by its name."""
    ACTIONS[function.__name__] = function
    return function


def request(world: World, machine: Machine, name: str, *, takeover: bool = False, **arguments: Any) -> str:
    """A client asks for a sequence. The id under which its events run; whether it begins, the events say."""
    actor = world.unique(machine.name, name)
    run = machine.run
    running = run.sequence.name if run and run.sequence else ""
    if running and not takeover and name not in _TAKES_OVER.get(running, ()):
        _tell(world, machine, Sequence(name=name), "NOOP", ("LOCKED", "sequence not started: locked"))
    else:
        begin(world, machine, name, actor, **arguments)
    return actor


def begin(world: World, machine: Machine, name: str, actor: str = "", **arguments: Any) -> None:
    """Start a sequence in place of whatever runs."""
    assert machine.run is not None  # noqa: S101 - callers look
    world.timeline.cancel(Key(machine.name, "sequence"))
    machine.run.sequence = Sequence(name=name, actor=actor, arguments=arguments)
    machine.run.stage = STAGES.get(name, machine.run.stage)
    if name not in _SILENT:
        _tell(world, machine, machine.run.sequence, "START")
    world.touch(machine)


def settle(world: World, machine: Machine) -> None:
    """Make sure that the step at hand is under way, or over if it was only held."""
    run = machine.run
    while run is not None and run.sequence is not None and machine.run is run:
        sequence = run.sequence
        steps = SEQUENCES[sequence.name]
        while sequence.step < len(steps) and not _wanted(steps[sequence.step], sequence):
            sequence.step += 1
        if sequence.step >= len(steps):
            _end(world, machine, sequence)
            return
        step = steps[sequence.step]
        if not sequence.begun:
            sequence.begun = True
            _tell_step(world, machine, sequence, step, "START")
        if step.waits:
            if Key(machine.name, "sequence") not in world.timeline:
                wait = sum(world.pace.duration(one, machine.name, machine.boots, step.task) for one in step.waits)
                world.timeline.ensure(Key(machine.name, "sequence"), world.later(wait))
            return
        if step.hold and not HOLDS[step.hold](world, machine):
            return
        finish_step(world, machine)


def finish_step(world: World, machine: Machine) -> None:
    """The step at hand is over: do its work and go to the next."""
    sequence = machine.run.sequence if machine.run else None
    if sequence is None:
        return
    step = SEQUENCES[sequence.name][sequence.step]
    boot = machine.boots
    try:
        if step.act:
            ACTIONS[step.act](world, machine, sequence.arguments)
    except SequenceFailed as failure:
        _fail(world, machine, sequence, str(failure))
        return
    if machine.run is None or machine.boots != boot or machine.run.sequence is not sequence:
        return  # the work led elsewhere
    _tell_step(world, machine, sequence, step, "STOP")
    sequence.step += 1
    sequence.begun = False
    world.touch(machine)


def _end(world: World, machine: Machine, sequence: Sequence) -> None:
    assert machine.run is not None  # noqa: S101
    machine.run.sequence = None
    _tell(world, machine, sequence, "STOP")
    world.touch(machine)


def _fail(world: World, machine: Machine, sequence: Sequence, message: str) -> None:
    """The node goes on as it is; one that could not be installed starts over."""
    assert machine.run is not None  # noqa: S101
    machine.run.sequence = None
    world.kernel(machine, f"[talos] {sequence.name} sequence failed: {message}")
    _tell(world, machine, sequence, "NOOP", ("FATAL", f"sequence failed: {message}"))
    if sequence.name == "install":
        begin(world, machine, "reboot")
    else:
        machine.run.stage = "running"
    world.touch(machine)


def _wanted(step: Step, sequence: Sequence) -> bool:
    if not step.when:
        return True
    return bool(sequence.arguments.get(step.when.removeprefix("!"))) != step.when.startswith("!")


def _tell(world: World, machine: Machine, sequence: Sequence, act: str, error: tuple[str, str] | None = None) -> None:
    payload: dict[str, Any] = {"sequence": sequence.name, "action": act}
    if error:
        payload["error"] = {"code": error[0], "message": error[1]}
    if sequence.name not in _SILENT:
        world.event(machine, "SequenceEvent", payload, sequence.actor)
        world.kernel(machine, f"[talos] {sequence.name} sequence: {'done' if act == 'STOP' else act.lower()}")


def _tell_step(world: World, machine: Machine, sequence: Sequence, step: Step, act: str) -> None:
    if not step.phase:
        return
    events = [("PhaseEvent", {"phase": step.phase}), ("TaskEvent", {"task": step.task})]
    for kind, payload in events if act == "START" else reversed(events):
        world.event(machine, kind, {**payload, "action": act}, sequence.actor)
    world.kernel(machine, f"[talos] task {step.task}: {'done' if act == 'STOP' else 'starting'}")
