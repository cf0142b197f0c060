"""Defaults of the inventory that are made without a check are what the check would make of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from talosmith.inventory.schema import Inventory
from talosmith.model.section import Section


def _defaults(section: type[Section]) -> Iterator[Section]:
    for field in section.model_fields.values():
        if isinstance(field.default, Section):
            yield field.default


_SECTIONS: list[type[Section]] = [Section]
for _section in _SECTIONS:
    _SECTIONS += _section.__subclasses__()


@pytest.mark.parametrize("section", _SECTIONS)
def test_a_default_is_what_reading_it_gives(section: type[Section]) -> None:
    for default in _defaults(section):
        given = default.model_dump(exclude_unset=True)
        assert default == type(default)(**given)
        assert repr(default) == repr(type(default)(**given))


def test_the_inventory_has_such_defaults() -> None:
    assert {type(default).__name__ for default in _defaults(Inventory)} > {"Image", "NodeGroup", "TalosSettings"}
