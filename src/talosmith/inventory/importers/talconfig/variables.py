"""`${NAME}` in talhelper's files: the values of talenv.yaml and of the environment, and where each comes from.

A value that is hidden where it stands (an encrypted file, the environment) must not turn up in clear in an inventory
without being asked for, so every text that is filled says which hidden places it took something from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from talosmith import sops
from talosmith.errors import TalosmithError
from talosmith.files.regular import shown
from talosmith.inventory.importers.reading import Unusable, read_bytes
from talosmith.inventory.importers.shape import as_text
from talosmith.inventory.parse import Unreadable, decode

ENVIRONMENT = "the environment"
TALENV = ("talenv.yaml", "talenv.sops.yaml", "talenv.yml", "talenv.sops.yml")  # a later one wins

_PLACE = re.compile(r"\$\$|\$\{([^}\n]*)\}|\$(?!_\b)(\w+)")
_INNER = re.compile(r"(\w+)(?:(:?[-=+])(.*))?\Z", re.DOTALL)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Variable:
    text: str = field(repr=False)
    hidden_in: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables replaced, those that have no value, and the hidden places others came from."""

    text: str = field(repr=False)
    unknown: tuple[str, ...] = ()
    hidden_in: tuple[str, ...] = ()


class Variables:
    def __init__(self, known: Mapping[str, Variable]) -> None:
        self._known = known

    def fill(self, text: str) -> Filled:
        unknown: dict[str, None] = {}
        hidden: dict[str, None] = {}

        def value(name: str) -> str | None:
            variable = self._known.get(name)
            if variable is None or not variable.text:
                return None
            if variable.hidden_in:
                hidden[variable.hidden_in] = None
            return variable.text

        def replaced(found: re.Match[str]) -> str:
            if found[0] == "$$":
                return "$"
            inner = _INNER.match(found[1] if found[1] is not None else found[2])
            meant = self._meant(inner, value) if inner else None
            if meant is None:
                unknown[inner[1] if inner else found[0]] = None
                return found[0]
            return meant

        return Filled(_PLACE.sub(replaced, text), tuple(unknown), tuple(hidden))

    def fill_yaml(self, text: str) -> Filled:
        """The same for a YAML file: what stands in comments is no variable. Raises `yaml.YAMLError`."""
        if "$" not in text:
            return Filled(text)
        pieces: list[str] = []
        unknown: dict[str, None] = {}
        hidden: dict[str, None] = {}
        at = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
                start, end = event.start_mark.index, event.end_mark.index
                filled = self.fill(text[start:end])
                pieces += [text[at:start], filled.text]
                unknown |= dict.fromkeys(filled.unknown)
                hidden |= dict.fromkeys(filled.hidden_in)
                at = end
        return Filled("".join([*pieces, text[at:]]), tuple(unknown), tuple(hidden))

    def _meant(self, inner: re.Match[str], value: Any) -> str | None:
        name, operator, default = inner[1], inner[2] or "", inner[3]
        if operator.endswith("+"):
            return self._default(default, value) if name in self._known else ""
        found: str | None = value(name)
        if found is None and operator and (operator.startswith(":") or name not in self._known):
            return self._default(default, value)
        return found

    @staticmethod
    def _default(text: str, value: Any) -> str | None:
        """A default is text, or one variable."""
        if "$" not in text:
            return text
        return value(text[1:]) if re.fullmatch(r"\$\w+", text) else None


def find_variables(folder: Path, environment: Mapping[str, str]) -> tuple[Variables, list[tuple[str, str]]]:
    """The variables that files in `folder` may use, and what is wrong with the files they stand in."""
    known = {name: Variable(text, ENVIRONMENT) for name, text in environment.items()}
    wrong: list[tuple[str, str]] = []
    for name in TALENV:
        path = folder / name
        try:
            known |= _talenv(path)
        except Unusable as unusable:
            if path.exists():
                wrong.append((shown(path), str(unusable)))
        except Unreadable as unreadable:
            wrong.append((shown(path), str(unreadable)))
        except TalosmithError as problem:
            wrong.append((shown(path), f"cannot be decrypted: {problem}"))
    return Variables(known), wrong


def _talenv(path: Path) -> dict[str, Variable]:
    file = shown(path)
    text = decode(read_bytes(path), file)
    if "sops" in text and sops.is_encrypted(path):
        data = sops.load(path)
        return {name: Variable(as_text(value), file) for name, value in data.items()}
    return {name: Variable(value) for name, value in _assignments(text)}


_ASSIGNMENT = re.compile(
    r"""[^\S\n]*(?:export\s+)?(?P<name>[\w.]+)[^\S\n]*[:=][^\S\n]*
    (?: "(?P<double>(?:\\.|[^"\\])*)" | '(?P<single>[^']*)' | (?P<plain>[^\n]*) )""",
    re.VERBOSE,
)
_NO_ASSIGNMENT = re.compile(r"(?:\s+|#[^\n]*|---[^\S\n]*(?=\n|\Z))*")


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Lines such as `NAME: value` or `NAME=value`; a value may use those above it whose names are in capitals."""
    text = text.replace("\r\n", "\n")
    above: dict[str, str] = {}
    at = 0
    while True:
        skipped = _NO_ASSIGNMENT.match(text, at)
        at = skipped.end() if skipped else at
        if at == len(text):
            return
        found = _ASSIGNMENT.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise Unusable(f"cannot be used: line {line} is not `NAME: value`")
        at = found.end()
        if found["single"] is not None:
            value = found["single"]
        elif found["double"] is not None:
            escaped = found["double"].replace("\\n", "\n").replace("\\r", "\r")
            value = _expanded(re.sub(r"\\([^$])", r"\1", escaped), above)
        else:
            value = _expanded(re.sub(r"\s+#.*", "", f" {found['plain']}").strip(), above)
        above[found["name"]] = value
        yield found["name"], value


def _expanded(text: str, above: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        return above.get(found[2] or found[3], "")

    return re.sub(r"(\\)?\$(?:\{([A-Z0-9_]+)\}|([A-Z0-9_]+))", value, text)
