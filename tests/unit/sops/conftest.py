"""No test here sees the keys or rules of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.sops import Creation, Identities, parse_identity
from talosmith.sops.age import new_key


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("KEY", "KEY_FILE", "KEY_CMD", "SSH_PRIVATE_KEY_FILE"):
        monkeypatch.delenv(f"SOPS_AGE_{name}", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture(scope="session")
def identities() -> Identities:
    return Identities((parse_identity(new_key(), "a test"),), ("a test",))


@pytest.fixture(scope="session")
def creation(identities: Identities) -> Creation:
    return Creation((identities.found[0].recipient,))
