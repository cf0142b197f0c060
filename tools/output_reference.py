"""Writes docs/output.md from the schemas of command output. `python -m tools.output_reference`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from talosmith.report.data import API_VERSION
from talosmith.report.schemas import ERROR, KINDS, all_kinds, schema_of

PAGE = Path(__file__).parents[1] / "docs" / "output.md"
INTRODUCTION = f"""\
# Output for programs

`-o json` and `-o yaml` print one object on stdout. It starts with `apiVersion: {API_VERSION}` and `kind`, and the
JSON Schema (draft 2020-12) of its kind describes every field: `talosmith schema output KIND` prints the schema of a
kind, `talosmith schema output` the schemas of all kinds. Messages for people are on stderr.

- **Versions**: fields may be added within a version. `apiVersion` changes if a field is removed, renamed or changes
  its meaning.
- **Errors**: a command that fails prints kind `Error` instead. `code` is for programs, `message` and `fix` are for
  people. The exit code is the same as without `-o json`.
- **Runs**: `up` and `destroy` print JSON lines, one object per line (YAML: one document per object): an `Event` for
  everything that happens, an `Error` if the command fails outside of a step, and a `Result` as the last line, also if
  the plan is empty or refused. `run show --events` prints the recorded `Event` objects of a run.
- **Names** of fields are snake_case. Values of enums are kebab-case; values of Talos, Kubernetes or the command line
  keep their spelling.
- **Missing values**: all fields are always present. `null` means unknown or not applicable; text is never
  empty. An empty list means none.
- **Times** are RFC 3339 in UTC: `2026-01-02T03:04:05Z`, with or without a fraction of a second. **Durations** are
  numbers of seconds; sizes have their unit in the name (`memory_mib`).
- **Secrets** are in no output but that of `secrets show --reveal`. Values in machine configs are masked.

This page is made from the schemas.

## Commands

| command | kinds |
|---|---|
"""


def render() -> str:
    rows = [f"| `{command}` | {', '.join(_link(kind) for kind in kinds)} |" for command, kinds in KINDS.items()]
    rows.append(f"| any command that fails | {_link(ERROR)} |")
    sections = [line for kind in all_kinds() for line in _section(kind)]
    return INTRODUCTION + "\n".join([*rows, "", "## Kinds", "", *sections]).rstrip() + "\n"


def _section(kind: str) -> Iterator[str]:
    schema = schema_of(kind)
    commands = ", ".join(f"`{command}`" for command, kinds in KINDS.items() if kind in kinds)
    yield from (f"### {kind}", "", schema["description"], "")
    if commands:
        yield from (f"Printed by {commands}.", "")
    yield from ("| field | |", "|---|---|")
    for name, field in schema["properties"].items():
        if name not in ("apiVersion", "kind"):
            values = [f"`{value}`" for value in field.get("enum", ()) if value is not None]
            yield f"| `{name}` | {field['description']}{' One of ' + ', '.join(values) + '.' if values else ''} |"
    example = json.dumps(schema["examples"][0], indent=2, ensure_ascii=False)
    yield from ("", "```json", example, "```", "")


def _link(kind: str) -> str:
    return f"[{kind}](#{kind.lower()})"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
