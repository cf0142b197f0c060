"""What tests of charts share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from talosmith.helm import Client, Store, rendering
from tests.chart_server import ChartServer, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChartServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Store:
    rendering._memory.clear()
    return Store(tmp_path / "store")


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(waits: list[float]) -> Client:
    return Client(sleep=waits.append, timeout=120)
