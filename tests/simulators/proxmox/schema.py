"""What a parameter may look like, and the texts with which Proxmox VE refuses a parameter that looks otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import invalid_all

Kind = Literal["string", "integer", "number", "boolean"]
UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"
MISSING = "property is missing and it is not optional"


class Malformed(ValueError):
    """The text says what is wrong with a value."""


@dataclass(frozen=True)
class Param:
    kind: Kind = "string"
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    options: tuple[str, ...] = ()
    pattern: str = ""
    max_length: int | None = None
    check: Callable[[str], None] | None = None  # raises Malformed
    repeated: bool = False  # may be given several times

    def read(self, text: str) -> Any:
        value = self._typed(text)
        if isinstance(value, int | float) and self.kind != "boolean":
            if self.minimum is not None and value < self.minimum:
                raise Malformed(f"value must have a minimum value of {self.minimum:g}")
            if self.maximum is not None and value > self.maximum:
                raise Malformed(f"value must have a maximum value of {self.maximum:g}")
            return value
        if self.options and text not in self.options:
            raise Malformed(f"value '{text}' does not have a value in the enumeration '{', '.join(self.options)}'")
        if self.max_length is not None and len(text) > self.max_length:
            raise Malformed(f"value may only be {self.max_length} characters long")
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise Malformed("value does not match the regex pattern")
        if self.check:
            self.check(text)
        return value

    def _typed(self, text: str) -> Any:
        if self.kind == "integer":
            if not re.fullmatch(r"[+-]?\d+", text):
                raise Malformed(f"type check ('integer') failed - got '{text}'")
            return int(text)
        if self.kind == "number":
            if not re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
                raise Malformed(f"type check ('number') failed - got '{text}'")
            return float(text)
        if self.kind == "boolean":
            if text not in ("0", "1"):
                raise Malformed(f"type check ('boolean') failed - got '{text}'")
            return int(text)
        return text


def integer(minimum: float | None = None, maximum: float | None = None, required: bool = False) -> Param:
    return Param("integer", required, minimum, maximum)


def number(minimum: float | None = None, maximum: float | None = None) -> Param:
    return Param("number", False, minimum, maximum)


def boolean() -> Param:
    return Param("boolean")


def string(pattern: str = "", max_length: int | None = None, required: bool = False) -> Param:
    return Param(pattern=pattern, max_length=max_length, required=required)


def choice(*options: str, required: bool = False) -> Param:
    return Param(options=options, required=required)


def formatted(check: Callable[[str], None], max_length: int | None = None, required: bool = False) -> Param:
    """`check` raises Malformed with what comes after "invalid format - "."""

    def wrapped(text: str) -> None:
        try:
            check(text)
        except Malformed as problem:
            raise Malformed(f"invalid format - {problem}\n") from problem

    return Param(check=wrapped, max_length=max_length, required=required)


@dataclass(frozen=True)
class Table:
    """The parameters of a call: some by name, others (scsi0, scsi1, …) by what `more` knows."""

    named: Mapping[str, Param]
    more: Callable[[str], Param | None] = lambda name: None

    def find(self, name: str) -> Param | None:
        return self.named.get(name) or self.more(name)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """With values of the right types; refuses with a text for each parameter that is wrong."""
        values: dict[str, Any] = {}
        errors = {name: MISSING for name, param in self.named.items() if param.required and name not in given}
        for name, text in given.items():
            param = self.find(name)
            if param is None:
                errors[name] = UNKNOWN
                continue
            try:
                if param.repeated:
                    values[name] = [param.read(one) for one in (text if isinstance(text, list) else [text])]
                else:
                    values[name] = param.read(text if isinstance(text, str) else text[-1])
            except Malformed as problem:
                errors[name] = str(problem)
        if errors:
            raise invalid_all(errors)
        return values


def vmid(required: bool = True) -> Param:
    def check(text: str) -> None:
        if not re.fullmatch(r"[1-9][0-9]{2,8}", text):
            raise Malformed("value does not look like a valid VM ID")

    return formatted(check, required=required)


def dns_name() -> Param:
    label = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"

    def check(text: str) -> None:
        if not re.fullmatch(rf"{label}(\.{label})*", text):
            raise Malformed("value does not look like a valid DNS name")

    return formatted(check)
