"""Whether an expression fits its place: its names and fields exist, its types go together, its result is asked for.

Types are text: `int`, `string`, `list(string)`, `map(int,double)`, `optional(uint)`, an object's name, and `dyn`
where anything may come. Where the language allows more than is known here, the type is `dyn`, so that a good
expression is never refused.
"""

from __future__ import annotations

from functools import lru_cache

from talosmith.desired.config.cel.environments import ENVIRONMENTS, OBJECTS, Environment
from talosmith.desired.config.cel.parse import CelError, Node, parse

_COMPARABLE = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NUMBERS = ("int", "uint", "double")
_CONVERSIONS = ("int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp", "dyn", "type")
_STRING_METHODS = ("contains", "startsWith", "endsWith", "matches")
_MACROS = {
    "all": "bool",
    "exists": "bool",
    "exists_one": "bool",
    "existsOne": "bool",
    "filter": "",
    "map": "list(dyn)",
}
_OPTIONAL_METHODS = {"hasValue": "bool", "value": "inner", "orValue": "inner", "or": "same"}


@lru_cache(maxsize=1024)
def check_expression(text: str, environment: str) -> None:
    """Raises `CelError` if Talos would refuse the expression where the environment's expressions stand."""
    if not text:
        raise CelError("is missing")
    known = ENVIRONMENTS[environment]
    result = _Checker(known).type_of(parse(text), {})
    if result not in (known.result, "dyn"):
        raise CelError(f"gives {result}, but {known.result} is needed")


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._known = environment

    def type_of(self, node: Node, local: dict[str, str]) -> str:
        kind = node[0]
        if kind == "lit":
            return str(node[1])
        if kind == "name":
            found = local.get(node[1]) or self._known.names.get(node[1])
            if found is None and node[1] not in _CONVERSIONS:
                raise CelError(f"uses {node[1]}, which is not known here")
            return found or "type"
        if kind in ("select", "select?"):
            return self._select(node, local)
        if kind == "list":
            items = [self.type_of(item, local) for item in node[1]]
            return f"list({_common(items)})"
        if kind == "map":
            keys = [self.type_of(key, local) for key, _ in node[1]]
            values = [self.type_of(value, local) for _, value in node[1]]
            return f"map({_common(keys)},{_common(values)})"
        if kind == "method":
            return self._method(node, local)
        if node[1] == "has":
            if len(node[2]) != 1 or node[2][0][0] != "select":
                raise CelError("uses has() on something that is not a field")
            self.type_of(node[2][0], local)
            return "bool"
        return self._call(node[1], [self.type_of(argument, local) for argument in node[2]])

    def _select(self, node: Node, local: dict[str, str]) -> str:
        owner = self.type_of(node[1], local)
        if owner in OBJECTS:
            if node[2] not in OBJECTS[owner]:
                raise CelError(f"uses {owner}.{node[2]}, which does not exist")
            return OBJECTS[owner][node[2]]
        inside = _inside(owner, "map(")
        if inside or owner == "dyn" or owner.startswith("optional("):
            return inside.partition(",")[2] or "dyn"
        raise CelError(f"asks for the field {node[2]} of {owner}, which has none")

    def _method(self, node: Node, local: dict[str, str]) -> str:
        _, value, name, arguments = node
        if self._known.optionals and value == ("name", "optional"):
            return "dyn"
        owner = self.type_of(value, local)
        if name in _MACROS:
            return self._macro(owner, name, arguments, local)
        types = [self.type_of(argument, local) for argument in arguments]
        if owner == "dyn":
            return "dyn"
        if name in _STRING_METHODS:
            _expect(name, owner, types, "string")
            return "bool"
        if name == "size" and not types:
            return self._call("size", [owner])
        if owner.startswith("optional(") and name in _OPTIONAL_METHODS:
            inner = _inside(owner, "optional(")
            return {"inner": inner, "same": owner}.get(_OPTIONAL_METHODS[name], _OPTIONAL_METHODS[name])
        if owner in ("timestamp", "duration") and name.startswith("get"):
            return "int"
        raise CelError(f"calls {name}() on {owner}, which has no such function")

    def _macro(self, owner: str, name: str, arguments: list[Node], local: dict[str, str]) -> str:
        if len(arguments) not in (2, 3) or arguments[0][0] != "name":
            raise CelError(f"uses {name}() without a variable and a condition")
        inside = _inside(owner, "list(") or _inside(owner, "map(").partition(",")[0]
        if not inside and owner != "dyn":
            raise CelError(f"uses {name}() on {owner}, which is neither a list nor a map")
        inner = {**local, arguments[0][1]: inside or "dyn"}
        results = [self.type_of(argument, inner) for argument in arguments[1:]]
        if name == "map":
            return f"list({results[-1]})"
        if results[0] not in ("bool", "dyn"):
            raise CelError(f"uses {name}() with a condition that is neither true nor false")
        return _MACROS[name] or owner

    def _call(self, name: str, types: list[str]) -> str:
        if name in self._known.functions:
            wanted, result = self._known.functions[name]
            if len(types) != len(wanted) or not all(
                _fits(one, other) for one, other in zip(types, wanted, strict=True)
            ):
                raise CelError(f"calls {name}() with something else than ({', '.join(wanted)})")
            return result
        if name in _CONVERSIONS:
            if len(types) != 1:
                raise CelError(f"calls {name}() with something else than one value")
            return name
        if name == "size":
            if len(types) != 1 or not (
                types[0] in ("string", "bytes", "dyn") or types[0].startswith(("list(", "map("))
            ):
                raise CelError("asks for the size of something that has none")
            return "int"
        if name == "matches":
            _expect(name, types[0] if types else "", types[1:], "string")
            return "bool"
        if name != "in" and name.isidentifier():
            raise CelError(f"calls {name}(), which is not known here")
        return _operator(name, types)


def _operator(name: str, types: list[str]) -> str:
    result = _operator_result(name, types)
    if not result:
        shown = name.removeprefix("unary")
        raise CelError(f"uses {shown} on {' and '.join(types)}, which do not go together")
    return result


def _operator_result(name: str, types: list[str]) -> str:
    """Empty if the types do not go together."""
    first, last = types[0], types[-1]
    same = _fits(first, last)
    if name in ("&&", "||", "unary!"):
        return "bool" if all(_fits(one, "bool") for one in types) else ""
    if name == "?:":
        return _common(types[1:]) if _fits(first, "bool") and _fits(types[1], last) else ""
    if name in ("==", "!="):
        return "bool" if same else ""
    if name == "in":
        inside = _inside(last, "list(") or _inside(last, "map(").partition(",")[0]
        return "bool" if last == "dyn" or (inside and _fits(first, inside)) else ""
    if name in ("[]", "[?]"):
        key, _, element = _inside(first, "map(").partition(",")
        if element and _fits(last, key):
            return element
        return "dyn" if first == "dyn" else _inside(first, "list(") if _fits(last, "int") else ""
    if "dyn" in types:
        return "bool" if name in ("<", "<=", ">", ">=") else "dyn"
    if name in ("<", "<=", ">", ">="):
        return "bool" if same and first in (*_COMPARABLE, "null") else ""
    if name == "unary-":
        return first if first in ("int", "double") else ""
    if {first, last} == {"timestamp", "duration"} and name in ("+", "-"):
        return "timestamp"
    if name in ("+", "-") and same and first == "duration":
        return "duration"
    if name == "+" and same and (first in ("string", "bytes") or first.startswith("list(")):
        return first
    allowed = ("int", "uint") if name == "%" else _NUMBERS
    return first if same and first in allowed else ""


def _fits(one: str, other: str) -> bool:
    if one == other or "dyn" in (one, other):
        return True
    for outer in ("list(", "map(", "optional("):
        if one.startswith(outer) and other.startswith(outer):
            parts = _inside(one, outer).partition(","), _inside(other, outer).partition(",")
            return _fits(parts[0][0], parts[1][0]) and _fits(parts[0][2], parts[1][2])
    objects = [one in OBJECTS, other in OBJECTS]
    return "null" in (one, other) and any(objects)


def _expect(name: str, owner: str, types: list[str], wanted: str) -> None:
    if not _fits(owner, wanted) or len(types) != 1 or not _fits(types[0], wanted):
        raise CelError(f"calls {name}() on something else than text, or with something else than a text")


def _inside(of: str, outer: str) -> str:
    return of[len(outer) : -1] if of.startswith(outer) else ""


def _common(types: list[str]) -> str:
    return types[0] if types and all(one == types[0] for one in types) else "dyn"
