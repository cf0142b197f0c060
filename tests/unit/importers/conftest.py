"""No test here sees the keys or variables of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("KEY", "KEY_FILE", "KEY_CMD", "SSH_PRIVATE_KEY_FILE"):
        monkeypatch.delenv(f"SOPS_AGE_{name}", raising=False)
    return home
