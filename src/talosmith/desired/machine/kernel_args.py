"""Kernel arguments in patches. They are part of the image, so what a patch says of them is easily without effect.

Talos validates the whole config and does not say where the arguments came from; here the patch is named, and the key
of the inventory to use instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.desired.config.patch.apply import JsonPatch, Overlay, Patch, line_at
from talosmith.errors import Problem

_PATH = ("machine", "install", "extraKernelArgs")
_POINTER = "/" + "/".join(_PATH)
_UEFI = (1, 10)  # from here on, machines that boot by UEFI are installed with systemd-boot
_IN_THE_IMAGE = (1, 12)  # from here on, configs have grubUseUKICmdline, and GRUB does as systemd-boot
_LIFECYCLE = (1, 13)  # from here on, upgrades do not look at the machine config
_FIELD = ".".join(_PATH)
_FIX = "remove it, and list the arguments in `image.kernel_args` of the inventory"


def kernel_arg_problems(patch: Patch, talos: tuple[int, int]) -> Iterator[Problem]:
    """What keeps `machine.install.extraKernelArgs` of a patch from having an effect."""
    if talos < _UEFI:
        return
    for install, line in _installs(patch):
        if install.get("extraKernelArgs"):
            outdated = install.get("grubUseUKICmdline") is False
            yield from _problem(talos, outdated=outdated, source=patch.source, line=line)


def _problem(talos: tuple[int, int], *, outdated: bool, source: str, line: int) -> Iterator[Problem]:
    if talos < _IN_THE_IMAGE:
        what = f"{_FIELD} has no effect on machines that boot by UEFI"
        yield Problem(
            "warning", what, "systemd-boot takes the kernel command line from the image", _FIX, source, line
        )
    elif not outdated:
        what = f"{_FIELD} has no effect with Talos {talos[0]}.{talos[1]}"
        why = "the kernel command line is part of the image (grubUseUKICmdline), and Talos refuses the config"
        yield Problem("error", what, why, _FIX, source, line)
    elif talos >= _LIFECYCLE:
        what = f"an upgrade drops {_FIELD}"
        yield Problem("warning", what, "https://github.com/siderolabs/talos/issues/13967", _FIX, source, line)


def _installs(patch: Patch) -> Iterator[tuple[dict[str, Any], int]]:
    """What the patch puts into `machine.install`, and the line."""
    if isinstance(patch, JsonPatch):
        for operation in patch.operations:
            pointer, value = str(operation.get("path")), operation.get("value")
            if operation.get("op") in ("add", "replace"):
                if f"{pointer}/".startswith(f"{_POINTER}/"):
                    yield {"extraKernelArgs": value}, 0
                elif pointer == "/machine/install" and isinstance(value, dict):
                    yield value, 0
        return
    for step in patch.steps:
        if isinstance(step, Overlay) and "kind" not in step.document:
            machine = step.document.get("machine")
            install = machine.get("install") if isinstance(machine, dict) else None
            if isinstance(install, dict):
                yield install, line_at(step.node, _PATH)
