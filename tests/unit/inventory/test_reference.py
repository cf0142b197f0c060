from __future__ import annotations

from tools.inventory_reference import PAGE, render


def test_the_page_of_keys_is_current() -> None:
    """If not: python -m tools.inventory_reference"""
    assert PAGE.read_text(encoding="utf-8") == render()
