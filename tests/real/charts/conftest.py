"""A real registry for the tests of one worker, and the real Helm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talosmith.helm import Client, Store, rendering
from tests.real.charts.registry import Registry
from tests.real.helm.conftest import helm

__all__ = ["helm"]


@pytest.fixture(scope="session")
def registry(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """With TLS of a CA of its own and a basic login. What tests push goes below a path of their own."""
    with Registry(tmp_path_factory.mktemp("registry"), binary=peer("registry"), helm=peer("helm")) as running:
        yield running


@pytest.fixture
def reachable(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The registry, with this process knowing its CA and its login."""
    for name, value in registry.environment.items():
        monkeypatch.setenv(name, value)
    return registry


@pytest.fixture
def store(tmp_path: Path) -> Store:
    rendering._memory.clear()
    return Store(tmp_path / "store")


@pytest.fixture
def logged_in(reachable: Registry) -> Client:
    """A client that does not wait between its attempts."""
    from talosmith.helm import logins

    return Client(credentials=logins.read(logins.default_files()), sleep=lambda seconds: None)
