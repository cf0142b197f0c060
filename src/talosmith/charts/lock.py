"""charts.lock: which archive each add-on is installed from, so that the same inventory gives the same cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from talosmith.charts.content import ChartContent
from talosmith.errors import InventoryError, Permanent, Problem
from talosmith.files import replace_file
from talosmith.model.cluster import ChartPin
from talosmith.yaml.limits import check_limits

NAME = "charts.lock"
_LARGEST = 1 << 20
_HEADER = """\
# Written by talosmith: the charts of this cluster's add-ons, each with the digest of its archive.
# Commit this file. A chart whose content differs from it is refused.
"""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9:/._+@-]*[A-Za-z0-9/]")
_KEYS = ("source", "name", "wanted", "version", "digest")
_REQUIRED = {"source", "version", "digest"}
_REMOVE = "delete charts.lock and run `talosmith addons pull`, which writes it"


@dataclass(frozen=True, slots=True)
class Locked:
    """One chart: where it is from, which version was asked for, which one it is."""

    source: str
    name: str
    wanted: str
    version: str
    digest: str

    def is_for(self, pin: ChartPin) -> bool:
        return (self.source, self.name, self.wanted) == (pin.source, pin.name, pin.version)


@dataclass(frozen=True, slots=True)
class Lock:
    """Add-on -> its locked chart."""

    charts: Mapping[str, Locked] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Lock:
        """The lock of an inventory's folder; empty if there is none."""
        path = folder / NAME
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return cls()
        except OSError as problem:
            raise Permanent(f"{path} cannot be read: {problem.strerror}") from None
        return cls.parse(content, file=str(path))

    @classmethod
    def parse(cls, content: bytes, *, file: str) -> Lock:
        """The lock of this text; raises `InventoryError` with the line that is wrong."""
        return cls(dict(_read(content, file)))

    def get(self, addon: str, pin: ChartPin) -> Locked | None:
        """The entry of an add-on, if it is about the chart that the inventory asks for."""
        found = self.charts.get(addon)
        return found if found is not None and found.is_for(pin) else None

    def with_(self, contents: Mapping[str, ChartContent]) -> Lock:
        """A lock of exactly these add-ons. Charts of local paths are not locked: they are part of the inventory."""
        return Lock(
            {
                addon: Locked(one.pin.source, one.pin.name, one.pin.version, one.version, one.digest)
                for addon, one in sorted(contents.items())
                if not one.pin.is_local
            }
        )

    def text(self) -> str:
        lines = [_HEADER.rstrip("\n"), "charts:" if self.charts else "charts: {}"]
        for addon, one in sorted(self.charts.items()):
            lines.append(f"  {addon}:")
            values = {key: getattr(one, key) for key in _KEYS if getattr(one, key) or key == "wanted"}
            if one.wanted == one.version:
                del values["wanted"]
            lines += [f"    {key}: {_scalar(value)}" for key, value in values.items()]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> bool:
        """Write the lock in one move; False if the file has this content already, or nothing is to be written."""
        path, content = folder / NAME, self.text().encode()
        try:
            if path.read_bytes() == content:
                return False
        except FileNotFoundError:
            if not self.charts:
                return False
        replace_file(path, content)
        path.chmod(0o644)  # it is committed, and holds no secrets
        return True


def _scalar(text: str) -> str:
    """Text as YAML; quoted where YAML might take it for something else."""
    return text if _PLAIN.fullmatch(text) and ": " not in text else "'" + text.replace("'", "''") + "'"


def _read(content: bytes, file: str) -> Any:
    if len(content) > _LARGEST:
        raise _wrong(f"has {len(content)} bytes; {_LARGEST} are allowed", file, 0)
    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        raise _wrong("is not UTF-8", file, content[: problem.start].count(b"\n") + 1) from None
    conflict = re.search(r"^(?:<{7}|>{7}|={7})", text, re.MULTILINE)
    if conflict:
        raise _wrong("has a merge conflict", file, text[: conflict.start()].count("\n") + 1)
    try:
        check_limits(text)
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        cause = getattr(problem, "problem", None) or "no YAML"
        raise _wrong(f"is no YAML: {cause}", file, mark.line + 1 if mark else 0) from None
    if root is None:
        return
    charts = _table(root, file).get("charts")
    if charts is None:
        raise _wrong("has no `charts`", file, 1)
    if isinstance(charts, yaml.ScalarNode) and not charts.value:
        return
    for addon, node in _table(charts, file).items():
        yield addon, _locked(_table(node, file), file, node.start_mark.line)


def _table(node: Any, file: str) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _wrong("a table is expected here", file, node.start_mark.line + 1)
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in found:
            raise _wrong("a name is expected here, and each once", file, key.start_mark.line + 1)
        found[key.value] = value
    return found


def _locked(fields: dict[str, Any], file: str, line: int) -> Locked:
    missing = _REQUIRED - fields.keys()
    if missing:
        raise _wrong(f"`{min(missing)}` is missing", file, line)
    for key, node in fields.items():
        if key not in _KEYS or not isinstance(node, yaml.ScalarNode):
            raise _wrong(f"`{key}` is not a key of a locked chart with a text", file, node.start_mark.line + 1)
    digest = fields["digest"]
    if not _DIGEST.fullmatch(digest.value):
        raise _wrong(f"`{digest.value}` is no digest (sha256:…)", file, digest.start_mark.line + 1)
    values = {key: str(fields[key].value) if key in fields else "" for key in _KEYS}
    return Locked(**(values if "wanted" in fields else values | {"wanted": values["version"]}))


def _wrong(what: str, file: str, line: int) -> InventoryError:
    return InventoryError([Problem("error", f"charts.lock: {what}", fix=_REMOVE, file=file, line=line)])
