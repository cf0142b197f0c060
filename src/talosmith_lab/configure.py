"""A node is given a config: taken or refused as Talos does, in the mode that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from talosmith.desired.config.reboot_rules import FREE
from talosmith.model.versions import Version
from talosmith_lab import lifecycle, sequences
from talosmith_lab.change import difference, refused_without_reboot
from talosmith_lab.checks import Invalid, check, loaded
from talosmith_lab.clock import Key
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import read
from talosmith_lab.world import World

Mode = Literal["REBOOT", "AUTO", "NO_REBOOT", "STAGED", "TRY"]
_DETAILS: dict[Mode, str] = {
    "REBOOT": "Applied configuration with a reboot",
    "NO_REBOOT": "Applied configuration without a reboot",
    "STAGED": "Staged configuration to be applied after the next reboot",
    "TRY": "Applied configuration without a reboot",
}


class Busy(Exception):
    """Not at this moment."""


class Unsupported(Exception):
    """This version of Talos has no such mode."""


@dataclass(frozen=True, slots=True)
class Applied:
    mode: Mode
    details: str
    warnings: tuple[str, ...] = ()


def apply(
    world: World, machine: Machine, text: str, mode: Mode, *, dry_run: bool = False, try_seconds: float = 60.0
) -> Applied:
    """Raises `Invalid`, `Busy` or `Unsupported`."""
    run = machine.run
    if run is None:
        raise Busy("the machine is off")
    if run.reboot_pending:
        raise Busy(
            "configuration was already applied and node is rebooting, cannot apply more configuration changes until "
            "next reboot"
        )
    in_maintenance = world.config(machine) is None
    reboots = Version.parse(run.version).line < FREE  # Talos up to 1.13 reboots by itself where a change needs it
    if mode != "TRY" and reboots:
        _keep_trying(world, machine)
    loaded(text, run.version)
    if not in_maintenance and not read(text).complete:
        raise Invalid(
            "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine "
            "config instead?"
        )
    if mode == "REBOOT" and not in_maintenance and not reboots:
        raise Unsupported("the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead")
    new, warnings = check(machine, run.version, text)
    mode, why = _mode(world, machine, text, mode, in_maintenance)
    if dry_run:
        current = world.texts[run.config] if run.config else ""
        changes = difference(current, text) or "No changes."
        summary = f"Dry run summary:\n{_DETAILS[mode]} (skipped in dry-run).\nConfig diff:\n\n{changes}"
        return Applied(mode, summary)
    if mode != "TRY":
        _keep_trying(world, machine)
    _put(world, machine, text, mode, try_seconds)
    details = _DETAILS[mode] + why
    if mode == "TRY":
        details += "\nThe config is applied in 'try' mode and will be automatically reverted back in "
        details += _go_time(try_seconds)
    elif in_maintenance and new.complete and mode == "NO_REBOOT":
        lifecycle.go_on_with_config(world, machine)
    return Applied(mode, details, tuple(warnings))


def settle(world: World, machine: Machine) -> None:
    if machine.run is not None and machine.run.trying_until is not None:
        world.timeline.ensure(Key(machine.name, "try"), machine.run.trying_until)


def revert(world: World, machine: Machine) -> None:
    """The config that was tried was not confirmed."""
    run, system = machine.run, machine.system
    if run is not None and run.trying_until is not None and system is not None:
        run.trying_until = None
        run.config = system.config
        world.kernel(machine, "[talos] reverted the config that was applied in try mode")
        world.touch(machine, config=True)


def _keep_trying(world: World, machine: Machine) -> None:
    """Any other config ends a trial: the one that was tried is not taken back."""
    if machine.run is not None and machine.run.trying_until is not None:
        machine.run.trying_until = None
        world.timeline.cancel(Key(machine.name, "try"))
        world.touch(machine)


def _mode(world: World, machine: Machine, text: str, mode: Mode, in_maintenance: bool) -> tuple[Mode, str]:
    """The mode that is used in the end, and why it is another one."""
    if in_maintenance:
        return ("NO_REBOOT" if mode in ("AUTO", "REBOOT") else mode), ""
    run = machine.run
    assert run is not None  # noqa: S101
    asked = mode in ("AUTO", "NO_REBOOT", "TRY")
    fields = refused_without_reboot(world.texts[run.config], text, run.version) if asked else ()
    why = f"this config change can't be applied in immediate mode\ndiff: {', '.join(fields)}" if fields else ""
    if mode == "AUTO":
        return ("REBOOT", f": {why}") if why else ("NO_REBOOT", "")
    if why:
        raise Invalid(why)
    return mode, ""


def _put(world: World, machine: Machine, text: str, mode: Mode, try_seconds: float) -> None:
    run, system = machine.run, machine.system
    assert run is not None  # noqa: S101
    digest = world.keep_text(text)
    if system is not None and mode != "TRY":
        system.config = digest
    if mode in ("NO_REBOOT", "TRY"):
        run.config = digest
    if mode == "TRY":
        world.timeline.cancel(Key(machine.name, "try"))
        run.trying_until = world.now() + try_seconds
    world.kernel(machine, f"[talos] apply config request: mode {mode.lower()}")
    world.touch(machine, config=True)
    if mode == "REBOOT":
        run.reboot_pending = True
        sequences.request(world, machine, "reboot", takeover=True)


def _go_time(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"
