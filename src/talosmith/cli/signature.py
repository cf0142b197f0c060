"""What a command accepts, as plain data: help is printed from it, and completion's table is generated from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from talosmith.cli.options import duration_text


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument. `metavar` is empty for a flag."""

    names: tuple[str, ...]  # `-n`, `--node`; none for an argument
    metavar: str
    help: str
    default: str = ""
    required: bool = False
    repeatable: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """A command, or a group of commands."""

    path: str  # `lab machine create`
    help: str
    notes: str = ""  # lines of `name<TAB>meaning` below a heading
    parameters: tuple[Parameter, ...] = ()
    commands: dict[str, Signature] = field(default_factory=dict)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.parameters if not one.names)

    @property
    def options(self) -> tuple[Parameter, ...]:
        return tuple(one for one in self.parameters if one.names)


def signature(command: Any, path: str) -> Signature:
    """Of a command as typer builds it."""
    children = {name: signature(child, f"{path} {name}") for name, child in getattr(command, "commands", {}).items()}
    parameters = () if children else tuple(parameter(one) for one in command.params if one.name != "help")
    text = " ".join((command.help or "").split())
    return Signature(path, text, command.epilog or "", parameters, children)


def parameter(one: Any) -> Parameter:
    is_argument = one.param_type_name == "argument"
    is_flag = bool(getattr(one, "is_flag", False))
    choices = tuple(str(getattr(choice, "value", choice)) for choice in getattr(_type(one), "choices", None) or ())
    metavar = "" if is_flag else _metavar(one, choices)
    return Parameter(
        names=() if is_argument else (*sorted(one.opts, key=len), *one.secondary_opts),
        metavar=metavar,
        help=(one.help or "").rstrip("."),
        default=_default(one.default, metavar),
        required=one.required,
        repeatable=bool(getattr(one, "multiple", False)) or one.nargs == -1,
        choices=choices,
    )


def _type(one: Any) -> Any:
    """How typer describes the type: older versions by click's class, newer ones by their own."""
    return getattr(one, "type", None) or one.type_descriptor


def _metavar(one: Any, choices: tuple[str, ...]) -> str:
    """The command's own word; otherwise the choices, or a noun that fits the type."""
    if one.metavar:
        return str(one.metavar).strip("[]…. ")
    if choices:
        return "|".join(choices)
    annotation = str(getattr(_type(one), "annotation", "")) or str(getattr(_type(one), "name", ""))
    if any(word in annotation for word in ("int", "float")):
        return "NUMBER"
    if "path" in annotation.lower() and one.param_type_name == "option":
        return "FILE"
    return str(one.name).upper().rpartition("_")[2]


def _default(value: Any, metavar: str) -> str:
    value = getattr(value, "value", value)
    if value is None or value is False or value in ("", 0, (), []) or callable(value):
        return ""
    if metavar == "DURATION":
        return duration_text(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
