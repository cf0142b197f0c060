"""Assertions of the contract tell what they saw, as those of any test do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("talosmith.providers.contract")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
