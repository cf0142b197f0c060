"""Which add-ons there are: each folder beside this file is one, imported only if its add-on is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from talosmith.addons.addon import Addon

NAMES = tuple(
    sorted(
        path.name.replace("_", "-") for path in Path(__file__).parent.iterdir() if (path / "__init__.py").is_file()
    )
)


def is_known(name: str) -> bool:
    return name in NAMES


@cache
def addon(name: str) -> Addon:
    """The add-on of this name; raises KeyError."""
    if name not in NAMES:
        raise KeyError(name)
    found = import_module(f"talosmith.addons.{name.replace('-', '_')}").ADDON
    assert isinstance(found, Addon)  # noqa: S101 - what every folder has
    return found
