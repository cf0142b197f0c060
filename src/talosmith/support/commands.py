"""What talosmith's own commands say about the cluster, as a user would see it.

Each command runs in a process of its own: one that hangs or crashes, which may be why there is a support bundle,
costs its own file and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path

from talosmith.report.data import as_yaml
from talosmith.support.archive import Files
from talosmith.support.machine_config import without_free_form

_LIMIT = 120.0  # seconds for one command
_AT_ONCE = 2
INVENTORY = "inventory.yaml"
COMMANDS = {
    INVENTORY: ("show", "-o", "yaml"),
    "plan.txt": ("plan",),
    "status.txt": ("status",),
    "health.txt": ("health",),
    "doctor.txt": ("doctor",),
    "runs.txt": ("runs",),
}


async def collect(folder: Path, files: Files) -> None:
    """All commands, for the inventory in `folder`."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(path: str, command: tuple[str, ...]) -> None:
        async with room:
            await _run(path, (command[0], "-i", str(folder), *command[1:]), files)

    await asyncio.gather(*(one(path, command) for path, command in COMMANDS.items()))


async def _run(path: str, arguments: tuple[str, ...], files: Files) -> None:
    shown = f"talosmith {shlex.join(arguments)}"
    mixed = asyncio.subprocess.DEVNULL if path == INVENTORY else asyncio.subprocess.STDOUT
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "talosmith", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=mixed,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "160"},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_LIMIT):
            out, _ = await process.communicate()
    except TimeoutError:
        files.miss(path, f"`{shown}` did not end within {_LIMIT:g} s")
        return
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = out.decode(errors="replace")
    if path == INVENTORY:
        text = _without_free_form(text)
    files.add(path, f"# {shown}\n# exit code {process.returncode}\n{text}")


def _without_free_form(text: str) -> str:
    """Patches of the inventory have the free-form fields of machine configs; warnings are in plan.txt."""
    import yaml

    try:
        return as_yaml(without_free_form(yaml.safe_load(text))) + "\n"
    except yaml.YAMLError as wrong:
        return f"not collected: the inventory cannot be read ({wrong.__class__.__name__})\n"
