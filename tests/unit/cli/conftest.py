"""No test here sees what whoever runs it has set for the command."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TALOSMITH_INVENTORY", "TALOSMITH_LAB"):
        monkeypatch.delenv(name, raising=False)
