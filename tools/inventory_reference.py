"""Writes docs/inventory.md from the schema: it is always current. `python -m tools.inventory_reference`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from talosmith.inventory.json_schema import editor_schema
from talosmith.inventory.rules.not_built import NOT_BUILT
from talosmith.model import PROVIDERS, Services

PAGE = Path(__file__).parents[1] / "docs" / "inventory.md"
INTRODUCTION = """\
# The inventory

A folder with `cluster.yaml`, and optionally `nodes.yaml` (the keys `controlplane` and `workers`),
`secrets.sops.yaml` and `patches/`. A key stands in one of the two files.

- **Environments**: `inventory/<env>/cluster.yaml` with `extends: ../base`. Maps merge, lists and scalars replace.
  `talosmith -e prod` selects one.
- **Nodes**: `controlplane: 3` is cp-1 to cp-3; a mapping with `count` sets values for all of them; a list names each.
- **Addresses**: with `network.node_cidr` they are static: the offset plus the number at the end of the name, or the
  node's `ip`. Without it, reserve each node's `ip` for its MAC address in your DHCP server.
- **Patches** for machine configs are applied in this order: `patches/global/*.yaml`, `patches:`, then
  `patches/controlplane/*.yaml` or `patches/worker/*.yaml` and the role's `patches:`, then
  `patches/nodes/<name>.yaml` and the node's `patches:`. Files are sorted by name, those of an extended inventory
  first. A patch elsewhere below `patches/` that no `patches:` names is an error.
- **Disks**: a node's `disk` is the size of the first disk (`40G`), or the disk that Talos is installed on: a device
  (`/dev/sda`) or a serial number (`S4EWNX0R1`). Text that looks like a size or a device and is neither is an error. A
  serial number that looks like one, or has less than four characters, no digit or a blank, is written
  `{serial: "20G4"}`.
- **Secrets** are referenced, never written: `sops:path.in.secrets` or `env:VARIABLE`.
- **Provider**: one of the blocks @PROVIDERS@; without one, `lab`.
  Not built yet: @UNBUILT@. `validate` and every command that works with machines refuse it; `show`, `render` and
  `secrets` work.
- **Not built yet**: keys marked below are checked, and nothing acts on them. `validate`, `show`, `plan` and `up`
  warn.

Sizes: `8G` and `8Gi` both mean 8 × 1024 MiB; memory without a unit is in MiB.
This page is generated from the schema (`talosmith schema` prints it for editors).
"""


def render() -> str:
    schema = editor_schema()
    services = set(Services.model_fields)
    schema["properties"] = dict(sorted(schema["properties"].items(), key=lambda item: item[0] in services))
    definitions: dict[str, Any] = schema["$defs"]
    parts = [_introduction(), *_section("Top level", schema, definitions)]
    told: set[str] = set()
    for key, value in schema["properties"].items():
        parts += _below(key, value, definitions, told)
    return "\n".join(parts).rstrip() + "\n"


def _introduction() -> str:
    unbuilt = [f"`{name}`" for name, section in PROVIDERS.items() if not section.built]
    text = INTRODUCTION.replace("@PROVIDERS@", ", ".join(f"`{name}`" for name in PROVIDERS))
    return text.replace("@UNBUILT@", ", ".join(unbuilt))


def _below(path: str, value: dict[str, Any], definitions: dict[str, Any], told: set[str]) -> Iterator[str]:
    for name in _references(value):
        if name in told:
            continue
        told.add(name)
        yield from _section(path, definitions[name], definitions)
        for key, inner in definitions[name].get("properties", {}).items():
            yield from _below(f"{path}.{key}", inner, definitions, told)


def _section(title: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {title if title == 'Top level' else f'`{title}`'}\n"
    if schema.get("description") and title != "Top level":
        yield schema["description"] + "\n"
    yield "| key | value | default | |\n|---|---|---|---|"
    for key, value in schema["properties"].items():
        default = value.get("default")
        shown = "" if default in (None, [], {}, "") or isinstance(default, dict) else f"`{_plain(default)}`"
        text = value.get("description", "")
        if title == "Top level" and (key in NOT_BUILT or (key in PROVIDERS and not PROVIDERS[key].built)):
            text = f"{text}; not built yet" if text else "not built yet"
        yield f"| `{key}` | {_type(value, definitions)} | {shown} | {text} |"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in value:
        kinds = [_type(option, definitions) for option in value["anyOf"] if option.get("type") != "null"]
        return ", ".join(dict.fromkeys(kinds))
    if "$ref" in value:
        return "mapping"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    kind = value.get("type")
    if kind == "array":
        return f"list of {_type(value.get('items', {}), definitions)}"
    if value.get("examples"):
        return f"for example `{value['examples'][0]}`"
    if str(value.get("pattern", "")).startswith("^(env|sops)"):
        return "`sops:…` or `env:…`"
    names = {"string": "text", "integer": "number", "boolean": "true or false", "object": "mapping"}
    return names.get(kind, "mapping, list or text") if isinstance(kind, str | None) else "mapping, list or text"


def _references(value: dict[str, Any]) -> Iterator[str]:
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2]
    inner = [*value.get("anyOf", []), value.get("items"), value.get("additionalProperties")]
    inner += list(value.get("patternProperties", {}).values())
    for option in inner:
        if isinstance(option, dict):
            yield from _references(option)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
