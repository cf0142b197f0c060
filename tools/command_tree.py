"""Writes `src/talosmith/cli/command_tree.json`: commands, options and arguments for completion and hints.

python tools/command_tree.py            # write it
python tools/command_tree.py --check    # fail if it is stale
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from typer.main import get_command

from talosmith.cli.command_tree import FILE
from talosmith.cli.commands import COMMANDS
from talosmith.cli.signature import Parameter, Signature, signature
from talosmith.model.providers import PROVIDERS

_CHOICES = {"--provider": tuple(PROVIDERS), "--output": ()}


def generated() -> str:
    commands = {
        name: {**_entry(signature(get_command(import_module(command.module).app), name)), "summary": command.summary}
        for name, command in COMMANDS.items()
    }
    return json.dumps({"commands": commands}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _entry(found: Signature) -> dict[str, Any]:
    entry: dict[str, Any] = {"summary": found.help.partition(". ")[0].rstrip(".")}
    if found.commands:
        return {**entry, "commands": {name: _entry(child) for name, child in found.commands.items()}}
    options = [[list(one.names), one.metavar, one.help, _choices(one), one.repeatable] for one in found.options]
    arguments = [[one.metavar, _choices(one), one.repeatable] for one in found.arguments]
    return {**entry, "options": options, "arguments": arguments}


def _choices(one: Parameter) -> list[str]:
    known = next((_CHOICES[name] for name in one.names if name in _CHOICES), ())
    return list(one.choices or known)


if __name__ == "__main__":
    if "--check" in sys.argv:
        if FILE.read_text(encoding="utf-8") != generated():
            sys.exit(f"{FILE.name} is stale: run `python tools/command_tree.py`")
    else:
        FILE.write_text(generated(), encoding="utf-8")
