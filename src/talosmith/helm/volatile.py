"""Finds what differs from one rendering of a chart to the next: random passwords, generated certificates, the time.

A chart that called such a function is rendered twice, the second time with another clock. What differs is no change
of the inventory: a comparison with the cluster has to leave it out.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from talosmith.helm.manifests import RenderedObject

Identity = tuple[str, str, str, str]  # apiVersion, kind, namespace (as rendered, perhaps empty), name
Path = tuple[str | int, ...]
Volatile = Mapping[Identity, tuple[Path, ...]]

FUNCTIONS = frozenset(
    {
        "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
        "genSignedCertWithKey", "randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes", "randInt",
        "shuffle", "uuidv4", "bcrypt", "htpasswd", "encryptAES", "now", "ago",
    }
)  # fmt: skip
_CALLED = re.compile(rb"\b(?:" + b"|".join(sorted(name.encode() for name in FUNCTIONS)) + rb")\b")
# No unit of a date is the same then.
_LATER = timedelta(days=366 + 31 + 2, hours=1, minutes=1, seconds=1)
_run = threading.local()


def watched(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """These functions, with a note of each call, and with stand-ins in the second rendering."""
    return {name: _watched(functions[name], _second(name, functions)) for name in FUNCTIONS}


def _watched(function: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        _run.called = True
        return second(*arguments) if getattr(_run, "later", False) else function(*arguments)

    return call


def _second(name: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """What is called in the second rendering: another clock, and keys that are quicker to make than RSA keys."""
    new_key = functions["genPrivateKey"]
    if name == "now":
        return lambda: functions["now"]() + _LATER
    if name == "genPrivateKey":
        return lambda kind: new_key("ecdsa")
    if f"{name}WithKey" in functions:
        return lambda *arguments: functions[f"{name}WithKey"](*arguments, new_key("ecdsa"))
    return functions[name]


@contextmanager
def watching(*, later: bool = False) -> Iterator[Callable[[], bool]]:
    """Says afterwards whether one of the functions was called."""
    _run.called, _run.later = False, later
    try:
        yield lambda: bool(_run.called)
    finally:
        _run.later = False


def mentioned(files: Mapping[str, bytes]) -> bool:
    """Whether one of the functions stands in the chart's templates: for renderers that cannot be watched."""
    return any("templates/" in name and _CALLED.search(text) for name, text in files.items())


def identity(content: Mapping[str, Any]) -> Identity:
    metadata = content.get("metadata") or {}
    parts = (content.get("apiVersion"), content.get("kind"), metadata.get("namespace"), metadata.get("name"))
    first, second, third, fourth = (str(part or "") for part in parts)
    return first, second, third, fourth


def differences(first: Iterable[RenderedObject], second: Iterable[RenderedObject]) -> Volatile:
    """Paths of the fields that differ, by object; the empty path: the object has another name each time."""
    again = {identity(one.content): one for one in second}
    found: dict[Identity, tuple[Path, ...]] = {}
    for one in first:
        key = identity(one.content)
        other = again.get(key)
        if other is None:
            found[key] = ((),)
        elif other.text != one.text and (paths := tuple(_differing(one.content, other.content, ()))):
            found[key] = paths
    return found


def _differing(one: Any, other: Any, path: Path) -> Iterator[Path]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            if key not in one or key not in other:
                yield (*path, key)
            else:
                yield from _differing(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (item, item_again) in enumerate(zip(one, other, strict=True)):
            yield from _differing(item, item_again, (*path, place))
    elif one != other:
        yield path
