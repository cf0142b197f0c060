"""The contract of resources on a cloud in memory: what refers to machines, and three levels of needs."""

from __future__ import annotations

import pytest

from talosmith.providers.resource_contract import ResourceContract
from tests.cloud import CloudHarness

pytestmark = pytest.mark.anyio


class TestCloud(ResourceContract):
    @pytest.fixture
    async def harness(self) -> CloudHarness:
        made = CloudHarness()
        await made.provider().create(made.spec("cp-1"))
        return made
