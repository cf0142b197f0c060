"""The contract of resources on a cloud in memory: what refers to machines, and three levels of needs."""

from __future__ import annotations

import pytest

from tests.cloud import CloudHarness
from tests.resource_contract import ResourceContract


class TestCloud(ResourceContract):
    @pytest.fixture
    async def harness(self) -> CloudHarness:
        made = CloudHarness()
        await made.provider().create(made.spec("cp-1"))
        return made
