"""No key of the inventory is ignored silently: a module acts on it, or a warning says that nothing does yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

import talosmith
from talosmith.errors import Permanent
from talosmith.inventory.rules.not_built import NOT_BUILT
from talosmith.inventory.schema import Inventory
from talosmith.model import PROVIDERS
from talosmith.model.machines import Owner
from talosmith.model.section import Section
from talosmith.providers import provider_for

SOURCE = Path(talosmith.__file__).parent
ACTED_ON: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("acted_on.yaml").read_text())
NOT_BUILT_PROVIDERS = {name for name, section in PROVIDERS.items() if not section.built}


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)


def _keys() -> set[tuple[str, str]]:
    """Section and key of all that may stand in an inventory, without what `NOT_BUILT` or its provider covers."""
    found: set[tuple[str, str]] = set()
    waiting: list[type[Section]] = [Inventory]
    seen = set(waiting)
    while waiting:
        model = waiting.pop()
        for name, field in model.model_fields.items():
            if model is Inventory and name in NOT_BUILT.keys() | NOT_BUILT_PROVIDERS:
                continue
            below = set(_sections(field.annotation))
            if model is not Inventory or not below:  # a section as a whole is nothing that could be acted on
                owner = next(one for one in reversed(model.__mro__) if name in getattr(one, "__annotations__", {}))
                found.add((owner.__name__, name))
            waiting += below - seen
            seen |= below
    return found


def test_each_key_is_acted_on_or_said_to_be_not_built() -> None:
    registered = {(section, key) for section, keys in ACTED_ON.items() for key in keys}
    assert _keys() - registered == set(), "act on it and name the module in acted_on.yaml, or add it to NOT_BUILT"
    assert registered - _keys() == set(), "acted_on.yaml names keys that the schema does not have"


@pytest.mark.parametrize(
    ("key", "place"),
    [(key, place) for keys in ACTED_ON.values() for key, place in keys.items()],
    ids=[f"{section}.{key}" for section, keys in ACTED_ON.items() for key in keys],
)
def test_the_module_that_acts_on_a_key_reads_it(key: str, place: str) -> None:
    module, _, word = place.partition(":")
    reading = rf"\b{re.escape(word)}\b" if word else rf"[.\"'\[]{key}\b"
    assert re.search(reading, (SOURCE / module).read_text()), f"{module} does not read {key}"


def test_each_entry_of_the_table_is_a_key() -> None:
    assert NOT_BUILT.keys() <= Inventory.model_fields.keys()


@pytest.mark.parametrize("name", sorted(NOT_BUILT_PROVIDERS))
def test_a_provider_that_is_said_to_be_not_built_is_not(name: str, tmp_path: Path) -> None:
    """The day it is built, `built = False` has to go."""
    blocks = {"docker": "docker: {}\n"}
    header = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
    (tmp_path / "cluster.yaml").write_text(header + blocks[name])
    with pytest.raises(Permanent, match=f"provider `{name}` is not built yet"):
        provider_for(talosmith.load(tmp_path), Owner("dev", "0123456789abcdef"), None)
