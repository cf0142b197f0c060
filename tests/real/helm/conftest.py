"""The real Helm and real charts, as peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.peers import build, built
from tools.peers.helm_recipes import HELM


@pytest.fixture(scope="session")
def helm(peer: Callable[[str], Path]) -> Path:
    """The real Helm."""
    if not built(HELM):
        pytest.skip(f"helm {HELM.version} is not built; run `make peers`")
    return build(HELM) / "helm"
