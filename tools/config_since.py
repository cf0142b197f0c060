"""Which Talos knows which document and field: `python -m tools.config_since` writes the table of the product.

Each minor release ships the JSON schema of its machine config. What is in our tables and in none of the older schemas
came with the first release that has it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from talosmith.desired.config.schema.documents import KINDS, MAIN
from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type
from tools.peers.build import go_binary

TARGET = Path("src/talosmith/desired/config/schema/since.py")
MODULE = "github.com/siderolabs/talos/pkg/machinery"
RELEASES = ("v1.8.0", "v1.9.0", "v1.10.0", "v1.11.0", "v1.12.0", "v1.13.9", "v1.14.1")
# The schemas name one kind differently than Talos reads it; they lack another, which came with 1.13, and one field
# until long after it came.
OTHER_NAMES = {"KubeSpanEndpoints": "KubeSpanEndpointsConfig"}
NOT_IN_SCHEMAS = {"ImageVerificationConfig": (1, 13)}
LATE_IN_SCHEMAS = {"RegistryTLSConfig.clientIdentity.cert"}
Line = tuple[int, int]
Schema = Mapping[str, Any]

_HEAD = '''"""Which Talos first knows a document or a field, where it is not the oldest one that talosmith manages.

Written by `python -m tools.config_since` out of the JSON schemas that Talos releases ship.
"""

from __future__ import annotations

Line = tuple[int, int]

'''


def main() -> None:
    TARGET.write_text(written(), encoding="utf-8")


def written() -> str:
    """The module's text."""
    known = {_line(release): _kinds(release) for release in RELEASES}
    oldest = min(known)
    kinds: dict[str, Line] = {}
    fields: dict[str, Line] = {}
    for kind, struct in {"v1alpha1": MAIN, **KINDS}.items():
        first = NOT_IN_SCHEMAS.get(kind) or min(line for line, schemas in known.items() if kind in schemas)
        if first > oldest:
            kinds[kind] = first
        for path in _paths(struct):
            lines = [line for line, schemas in known.items() if kind in schemas and path in schemas[kind]]
            outer = max(
                [first, *(line for above, line in fields.items() if f"{kind}.{path}".startswith(f"{above}."))]
            )
            if lines and min(lines) > outer and f"{kind}.{path}" not in LATE_IN_SCHEMAS:
                fields[f"{kind}.{path}"] = min(lines)
    return _HEAD + _table("KINDS", kinds) + "\n" + _table("FIELDS", fields)


def _table(name: str, lines: Mapping[str, Line]) -> str:
    rows = [f'    "{key}": {line},\n' for key, line in sorted(lines.items(), key=lambda one: (one[1], one[0]))]
    return f"{name}: dict[str, Line] = {{\n{''.join(rows)}}}\n"


def _line(release: str) -> Line:
    major, minor, _ = release.removeprefix("v").split(".")
    return int(major), int(minor)


def _kinds(release: str) -> dict[str, set[str]]:
    """Kind and the paths of its fields."""
    with tempfile.TemporaryDirectory() as empty:
        command = [go_binary(), "mod", "download", "-json", f"{MODULE}@{release}"]
        folder = json.loads(subprocess.run(command, cwd=empty, capture_output=True, check=True).stdout)["Dir"]
    schema = json.loads((Path(folder) / "config/schemas/config.schema.json").read_text(encoding="utf-8"))
    found = {}
    for one in schema["oneOf"]:
        root = _resolved(one, schema)
        kind = (root["properties"].get("kind") or {}).get("enum", ["v1alpha1"])[0]
        found[OTHER_NAMES.get(kind, kind)] = set(_properties(root, schema, (), ""))
    return found


def _resolved(one: Schema, schema: Schema) -> Schema:
    while "$ref" in one:
        one = schema["$defs"][one["$ref"].rpartition("/")[2]]
    return one


def _properties(one: Schema, schema: Schema, above: tuple[int, ...], path: str) -> Iterator[str]:
    one = _resolved(one, schema)
    if id(one) in above:
        return
    inner = (*above, id(one))
    for name, value in (one.get("properties") or {}).items():
        yield f"{path}{name}"
        yield from _properties(value, schema, inner, f"{path}{name}.")
    for part in (one.get("items"), *(one.get("patternProperties") or {}).values()):
        if isinstance(part, Mapping):
            yield from _properties(part, schema, inner, path)


def _paths(of: Type, path: str = "") -> Iterator[str]:
    """The fields of a struct; lists and maps do not show in a path."""
    if isinstance(of, ListOf):
        yield from _paths(of.item, path)
    elif isinstance(of, MapOf):
        yield from _paths(of.value, path)
    elif isinstance(of, Struct):
        for name, field in of.fields.items():
            yield f"{path}{name}"
            yield from _paths(field.type, f"{path}{name}.")


if __name__ == "__main__":
    main()
