"""What tests of providers may ask for."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def libvirt_library() -> Any:
    """libvirt's own Python library, which is built against libvirt's headers: who asks for it is in the real tier."""
    return pytest.importorskip("libvirt", reason="libvirt-python is not installed: pip install 'talosmith[libvirt]'")
