"""Makes the table of Kubernetes' protocol buffers, which kubectl sends objects in: `python -m tools.kube_wire`.

The numbers and names of fields come from the `.proto` files of Kubernetes' own Go modules. Whether a field is written
out in JSON or its parts stand in its place is told by the schemas that `tools.kube_schemas` has made. The result is
committed.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tools.kube_schemas import FOLDER
from tools.peers.build import go_binary

VERSION = "v0.36.3"
MODULES = ("k8s.io/api", "k8s.io/apimachinery")  # of what else there is, nobody sends protocol buffers
_FIELD = re.compile(r"^\s*(optional|repeated|map<string, ([\w.]+)>)\s*([\w.]+)?\s+(\w+) = (\d+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_PLAIN = ("string", "int32", "int64", "bool", "bytes", "double", "uint32", "uint64", "float")

Table = dict[str, dict[str, list[str]]]  # message -> number -> name, type, and how it stands there


def main() -> None:
    (FOLDER / "wire.json.gz").write_bytes(gzip.compress(table().encode(), 9, mtime=0))


def table() -> str:
    """The table as it is kept, before it is packed."""
    kinds = json.loads((FOLDER / "kinds.json").read_text())
    schemas = json.loads(gzip.decompress((FOLDER / "schemas.json.gz").read_bytes()))["schemas"]
    messages: Table = {}
    for module in MODULES:
        for path in sorted(_module(module).rglob("generated.proto")):
            messages.update(_messages(path.read_text()))
    roots = [_message(one["group"], one["version"], one["kind"], messages) for one in kinds]
    roots += [
        _message(sub["group"], sub["version"], sub["kind"], messages) for one in kinds for sub in one["subresources"]
    ]
    roots.append("k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    used: Table = {}
    _collect([one for one in roots if one], messages, used)
    for name, fields in used.items():
        _compare(name, fields, schemas)
    return json.dumps(used, separators=(",", ":"), sort_keys=True)


def _module(name: str) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        command = [go_binary(), "mod", "download", "-json", f"{name}@{VERSION}"]
        told = subprocess.run(command, capture_output=True, check=True, cwd=folder)
    return Path(json.loads(told.stdout)["Dir"])


def _messages(text: str) -> Table:
    found = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    package = found[1] if found else ""
    return {f"{package}.{name}": _fields(body, package) for name, body in _MESSAGE.findall(text)}


def _fields(body: str, package: str) -> dict[str, list[str]]:
    fields = {}
    for form, values, kind, name, number in _FIELD.findall(body):
        how = "map" if values else "list" if form == "repeated" else ""
        fields[number] = [name, _full(values or kind, package), how]
    return fields


def _full(kind: str, package: str) -> str:
    if kind in _PLAIN:
        return kind
    return kind.lstrip(".") if "." in kind else f"{package}.{kind}"


def _message(group: str, version: str, kind: str, messages: Table) -> str:
    """The name of a kind's message."""
    short = group.partition(".")[0] or "core"
    found = [name for name in messages if name.endswith(f".{version}.{kind}") and name.startswith("k8s.io.api.")]
    exact = f"k8s.io.api.{short}.{version}.{kind}"
    return exact if exact in found else next(iter(found), "")


def _collect(names: list[str], messages: Table, used: Table) -> None:
    for name in names:
        if name not in used and name in messages:
            used[name] = messages[name]
            _collect([kind for _, kind, _ in used[name].values() if kind not in _PLAIN], messages, used)


def _compare(name: str, fields: dict[str, list[str]], schemas: dict[str, Any]) -> None:
    """Give fields the names that they have in JSON; a message that has none there is inline."""
    properties = schemas.get(name.replace("k8s.io.", "io.k8s.", 1), {}).get("properties")
    if not properties:
        return
    spelled = {one.lower(): one for one in properties}
    for field in fields.values():
        if field[0].lower() in spelled:
            field[0] = spelled[field[0].lower()]
        elif field[1] not in _PLAIN and not field[2]:
            field[2] = "inline"


if __name__ == "__main__":
    main()
