"""How Go's text/template reads fields, calls methods and functions, prints values and walks over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from gotpl.funcs.sprig.dates import date

from talosmith.helm.errors import TemplateError
from talosmith.helm.go_struct import GoStruct
from talosmith.helm.go_text import formatted

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

Expression = Callable[[Any, list[Any]], Any]


def follow(place: int | None, names: tuple[str, ...]) -> Expression:
    """`.a.b.c`, or `$x.a.b.c` where $x stands at the place.

    Go is kind to a root that is nil, and stops where a field is asked of a nil inside the chain.
    """
    if "AsMap" in names:
        names = without_as_map(names)
    first, *others = names
    if not others:
        if place is None:
            return lambda dot, variables: dot.get(first) if type(dot) is dict else field_of(dot, first)

        def single(dot: Any, variables: list[Any]) -> Any:
            value = variables[place]
            return value.get(first) if type(value) is dict else field_of(value, first)

        return single

    def chain(dot: Any, variables: list[Any]) -> Any:
        value = dot if place is None else variables[place]
        if value is None:
            return None
        for name in names:
            if type(value) is dict:
                value = value.get(name)
            elif value is None:
                raise LookupError(f"nil pointer evaluating interface {{}}.{name}")
            else:
                value = field_of(value, name)
        return value

    return chain


_OF_TIMES: dict[str, Callable[[datetime], Any]] = {
    "Year": lambda time: time.year,
    "Month": lambda time: time.strftime("%B"),
    "Day": lambda time: time.day,
    "Hour": lambda time: time.hour,
    "Minute": lambda time: time.minute,
    "Second": lambda time: time.second,
    "YearDay": lambda time: time.timetuple().tm_yday,
    "Unix": lambda time: int(time.timestamp()),
}


def without_as_map(names: tuple[str, ...]) -> tuple[str, ...]:
    """`.Values.AsMap` is a method that returns the same map as a plain one, which it is here from the start."""
    return tuple(
        name for place, name in enumerate(names) if name != "AsMap" or names[place - 1 : place] != ("Values",)
    )


def field_of(value: Any, name: str) -> Any:
    """One field of anything; a method is called without arguments."""
    if value is None:
        return None
    if isinstance(value, GoStruct):
        if name in value.go_names:
            found = getattr(value, name)
            return found() if callable(found) else found
        if not isinstance(value, Mapping):
            raise LookupError(f"can't evaluate field {name} in type {type(value).__name__}")
    if isinstance(value, Mapping):
        return value.get(name)
    if is_foreign(value, name):
        found = getattr(value, name)
        return found() if callable(found) else found
    if isinstance(value, datetime) and name in _OF_TIMES:
        return _OF_TIMES[name](value)
    raise LookupError(f"can't evaluate field {name} in type {go_type(value)}")


def is_foreign(value: Any, name: str) -> bool:
    """Whether it is a field or method of something that a function of gotpl returned: a certificate, a version."""
    return name[0].isupper() and type(value).__module__.startswith("gotpl.") and hasattr(value, name)


def call_method(root: Expression, names: tuple[str, ...], arguments: list[Expression]) -> Expression:
    """A chain whose last name may be a method that takes arguments."""
    names = without_as_map(names)

    def call(dot: Any, variables: list[Any]) -> Any:
        value = root(dot, variables)
        if not names:
            raise LookupError("can't give argument to non-function")
        if value is None:
            return None
        for name in names[:-1]:
            if value is None:
                raise LookupError(f"nil pointer evaluating interface {{}}.{name}")
            value = field_of(value, name)
        last = names[-1]
        if value is None:
            if len(names) > 1:
                raise LookupError(f"nil pointer evaluating interface {{}}.{last}")
            return None
        if not arguments:
            return field_of(value, last)
        if (isinstance(value, GoStruct) and last in value.go_names) or is_foreign(value, last):
            return getattr(value, last)(*(one(dot, variables) for one in arguments))
        if last == "Format" and isinstance(value, datetime):
            return date(arguments[0](dot, variables), value)
        raise LookupError(f"{last} has arguments but cannot be invoked as function")

    return call


def logical(name: str, arguments: list[Expression]) -> Expression:
    """`and` and `or` stop at the first argument that decides."""
    stops_at = name == "or"

    def decide(dot: Any, variables: list[Any]) -> Any:
        value = None
        for argument in arguments:
            value = argument(dot, variables)
            if bool(value) is stops_at:
                return value
        return value

    return decide


def call_function(name: str, function: Callable[..., Any], arguments: list[Expression]) -> Expression:
    """The call, with the function's name in its error."""

    def failed(problem: Exception) -> Exception:
        if isinstance(problem, (TemplateError, ChartStop, RecursionError)):
            return problem
        # What stands in quotes is often the value itself, which may be a secret.
        return LookupError(f"error calling {name}: {_QUOTED.sub('…', str(problem))}")

    if len(arguments) == 1:
        (only,) = arguments

        def call_one(dot: Any, variables: list[Any]) -> Any:
            value = only(dot, variables)
            try:
                return function(value)
            except Exception as problem:
                raise failed(problem) from None

        return call_one
    if len(arguments) == 2:
        first, second = arguments

        def call_two(dot: Any, variables: list[Any]) -> Any:
            left, right = first(dot, variables), second(dot, variables)
            try:
                return function(left, right)
            except Exception as problem:
                raise failed(problem) from None

        return call_two

    def call(dot: Any, variables: list[Any]) -> Any:
        values = [argument(dot, variables) for argument in arguments]
        try:
            return function(*values)
        except Exception as problem:
            raise failed(problem) from None

    return call


class ChartStop(Exception):
    """The chart itself says that it cannot be rendered so (`fail`, `required`)."""


def range_over(value: Any) -> list[tuple[Any, Any]]:
    """What `range` walks over: keys and values in Go's order."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return [(index, index) for index in range(value)]
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return list(enumerate(value))
    raise LookupError(f"range can't iterate over a value of type {go_type(value)}")


def printed(value: Any) -> str:
    """How an action writes its value."""
    if value is None:
        return "<no value>"
    return formatted(value)


def go_type(value: Any) -> str:
    """The type as Go names it."""
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return type(value).__name__


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float64"),
    (str, "string"),
    (dict, "map[string]interface {}"),
    (list, "[]interface {}"),
    (bytes, "[]uint8"),
)
