"""Which disks an expression selects: the part of the language that disk selectors use, evaluated.

Talos 1.14 accepts a selector that matches no disk and waits for one forever, so whether there is one is found out
before. What is not known here raises `CelError`: then nothing is said about the disk, rather than something wrong.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from talosmith.desired.config.cel.environments import OBJECTS
from talosmith.desired.config.cel.parse import CelError, Node, parse

_UNITS = {f"{unit}{end}": base ** (power + 1) for base, end in ((1000, "B"), (1024, "iB"))
          for power, unit in enumerate("KMGTPE")}  # fmt: skip
_UNITS["kB"] = _UNITS.pop("KB")
_ZERO = {"uint": 0, "bool": False, "string": "", "list(string)": ()}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "in": lambda one, of: one in of,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "glob": lambda pattern, text: _glob(pattern, text),
    "size": len,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
    "contains": lambda text, part: part in text,
    "startsWith": lambda text, part: text.startswith(part),
    "endsWith": lambda text, part: text.endswith(part),
    "int": int,
    "uint": int,
    "double": float,
    "string": str,
}
_QUANTIFIERS: Mapping[str, Callable[[list[bool]], bool]] = {
    "all": all,
    "exists": any,
    **dict.fromkeys(("exists_one", "existsOne"), lambda found: sum(found) == 1),
}


def selects_disk(expression: str, disk: Mapping[str, Any], *, system_disk: bool = False) -> bool:
    """Whether a disk, with the fields that Talos lists it with, is selected. Raises `CelError` for unknown parts."""
    known = {name: disk.get(name, _ZERO[of]) for name, of in OBJECTS["disk"].items()}
    names = {**_UNITS, "disk": known, "system_disk": system_disk}
    try:
        return bool(_value(parse(expression), names))
    except (TypeError, ValueError, KeyError, ZeroDivisionError, re.error) as wrong:
        raise CelError(f"cannot be evaluated: {wrong}") from None


def _value(node: Node, names: Mapping[str, Any]) -> Any:
    kind = node[0]
    if kind == "lit":
        return _literal(node[1], node[2])
    if kind == "name":
        return names[node[1]]
    if kind == "select":
        return _value(node[1], names)[node[2]]
    if kind == "list":
        return [_value(item, names) for item in node[1]]
    if kind == "method":
        return _method(node, names)
    if kind == "call":
        return _call(node[1], node[2], names)
    raise CelError(f"uses {kind}, which is not evaluated here")


def _method(node: Node, names: Mapping[str, Any]) -> Any:
    _, owner, name, arguments = node
    if name in _QUANTIFIERS and arguments[0][0] == "name":
        found = [bool(_value(arguments[1], {**names, arguments[0][1]: one})) for one in _value(owner, names)]
        return _QUANTIFIERS[name](found)
    return _known(name)(_value(owner, names), *(_value(one, names) for one in arguments))


def _call(name: str, arguments: list[Node], names: Mapping[str, Any]) -> Any:
    if name in ("&&", "||"):
        return _either(arguments, names, ends=name == "||")
    if name == "?:":
        return _value(arguments[1 if _value(arguments[0], names) else 2], names)
    values = [_value(one, names) for one in arguments]
    if name == "unary!":
        return not values[0]
    if name == "unary-":
        return -values[0]
    if name == "/":
        return values[0] / values[1] if isinstance(values[0], float) else int(values[0] / values[1])
    if name == "[]":
        return values[0][values[1]]
    return _OPERATORS[name](*values) if name in _OPERATORS else _known(name)(*values)


def _either(arguments: list[Node], names: Mapping[str, Any], *, ends: bool) -> bool:
    """One side that decides is enough, also if the other cannot be evaluated."""
    failed: CelError | KeyError | TypeError | None = None
    for one in arguments:
        try:
            if bool(_value(one, names)) is ends:
                return ends
        except (CelError, KeyError, TypeError) as wrong:
            failed = wrong
    if failed is not None:
        raise failed
    return not ends


def _known(name: str) -> Callable[..., Any]:
    if name not in _FUNCTIONS:
        raise CelError(f"calls {name}(), which is not evaluated here")
    return _FUNCTIONS[name]


def _glob(pattern: str, text: str) -> bool:
    """`*` stands for any text; nothing else is special."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def _literal(of: str, text: str) -> Any:
    if of in ("int", "uint"):
        return int(text.rstrip("uU"), 0 if text.startswith("0x") else 10)
    if of == "double":
        return float(text)
    if of in ("bool", "null"):
        return {"true": True, "false": False, "null": None}[text]
    if of != "string":
        raise CelError(f"has {of}, which is not evaluated here")
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    long = text.startswith(('"""', "'''"))
    inner = text[3:-3] if long else text[1:-1]
    return inner if raw else _ESCAPE.sub(_unescaped, inner)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if len(code) == 3 else _ESCAPES.get(code, code)
