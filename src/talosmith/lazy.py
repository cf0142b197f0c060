"""Packages whose names are looked up when they are first used: who needs an error only does not wait for the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lookup(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `homes` says which of its modules has which names."""

    def look(name: str) -> Any:
        for home, names in homes.items():
            if name in names.split():
                return getattr(import_module(f"{package}.{home}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return look
