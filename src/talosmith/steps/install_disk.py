"""Whether the machine has the disk that Talos is to be installed on, asked before the machine config is applied.

Talos up to 1.13 checks a disk selector when the config is applied, but an install disk given by path only when it
installs: by then the node has left maintenance mode, and it fails, reboots and falls back. Talos 1.14 checks neither
and waits for the disk. On machines that need no installation (containers, cloud images, disk images that Talos runs
from already) Talos ignores the install disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import normpath
from typing import Any

from talosmith.errors import Permanent, TalosmithError
from talosmith.model.secret import Secret
from talosmith.talos import Invalid, NotFound, TalosNode

_BY_LINK = ("/dev/disk/", "/dev/mapper/")
_NO_MATCH = "no disks matched"  # Talos' words about a selector

DiskSpec = Mapping[str, Any]  # of Disks.block.talos.dev


async def check_install_disk(node: TalosNode, config: Secret) -> None:
    """Raise `Permanent` if a machine in maintenance mode has no disk that Talos would be installed on.

    Where the disks are not known, or the expression that selects one is not understood, nothing is checked.
    """
    from talosmith.desired.config.load import load
    from talosmith.desired.config.meaning import meaning  # many modules, for who applies a first config

    read = meaning(load(config.reveal()))
    named, expression = read.install_disk, str((read.install or {}).get("match", ""))
    if not expression:
        return
    disks = await _disks(node)
    if not disks or (_has(disks, named) if named else _selects(expression, disks)):
        return
    if not await _is_to_be_installed(node):
        return
    if named:
        raise _missing(node, f"install disk {named} does not exist (no such file or directory)", disks)
    raise _missing(node, f"install disk selector matches no disk ({expression})", disks)


def _selects(expression: str, disks: Sequence[DiskSpec]) -> bool:
    from talosmith.desired.config.cel.evaluate import selects_disk
    from talosmith.desired.config.cel.parse import CelError

    try:
        return any(selects_disk(expression, disk) for disk in disks)
    except CelError:
        return True


async def without_match(node: TalosNode, refused: Invalid) -> TalosmithError:
    """The refusal of a config, with the machine's disks if its disk selector matches none of them."""
    disks = await _disks(node) if _NO_MATCH in refused.said else []
    return _missing(node, f"install disk selector matches no disk ({refused.said})", disks) if disks else refused


async def missing_disk(node: TalosNode, what: str) -> Permanent:
    """The error for a disk that does not exist, with those that do."""
    return _missing(node, what, await _disks(node))


def _missing(node: TalosNode, what: str, disks: Sequence[DiskSpec]) -> Permanent:
    usable = [one for one in disks if not one.get("readonly") and not one.get("cdrom")]
    return Permanent(
        f"{node.name}: {what}; disks of the machine: {', '.join(map(_described, usable)) or 'none'}",
        hint=f"set `disk` or `disk_selector` of {node.name} in the inventory, or machine.install "
        "(from Talos 1.14 on UnattendedInstallConfig) in its patches, to one of them",
    )


async def _disks(node: TalosNode) -> list[DiskSpec]:
    try:
        found = await node.list("disks")
    except TalosmithError:  # the config is applied all the same, and the machine says what it finds
        return []
    return [one.spec for one in found if isinstance(one.spec, Mapping) and one.spec.get("dev_path")]


async def _is_to_be_installed(node: TalosNode) -> bool:
    """As far as is known: a machine that does not tell is left alone."""
    try:
        if (await node.version()).mode != "metal":
            return False
        await node.system_disk()
    except NotFound:
        return True
    except TalosmithError:
        return False
    return False


def _has(disks: Sequence[DiskSpec], wanted: str) -> bool:
    path = normpath(wanted)
    links = {str(link) for one in disks for link in one.get("symlinks") or ()}
    if path.startswith(_BY_LINK) and not links:  # before 1.10 Talos did not tell them
        return True
    return path in links or any(path == one["dev_path"] for one in disks)


def _described(disk: DiskSpec) -> str:
    facts = [str(disk.get("pretty_size") or "")]
    facts += [f"{name} {disk[name]}" for name in ("model", "serial") if disk.get(name)]
    return f"{disk['dev_path']} ({', '.join(filter(None, facts))})"
