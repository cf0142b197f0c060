"""The provider of AWS keeps to the contracts of machines and resources, in front of the simulated AWS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.provider_contract import CreatingProviderContract
from tests.resource_contract import ResourceContract
from tests.simulators.aws import Cloud, Server
from tests.unit.providers.aws.aws_harness import AwsHarness

pytestmark = pytest.mark.slow


@pytest.fixture
def harness_of_aws(empty_aws: tuple[Cloud, Server]) -> AwsHarness:
    return AwsHarness(*empty_aws)


class TestMachines(CreatingProviderContract):
    many = 12

    @pytest.fixture
    async def harness(self, harness_of_aws: AwsHarness) -> AsyncIterator[AwsHarness]:
        provider = harness_of_aws.provider()
        await harness_of_aws.stand(provider)
        await provider.create(harness_of_aws.spec("cp-1"))
        harness_of_aws.cloud.calls.clear()
        yield harness_of_aws


class TestResources(ResourceContract):
    @pytest.fixture
    async def harness(self, harness_of_aws: AwsHarness, request: pytest.FixtureRequest) -> AsyncIterator[AwsHarness]:
        """Members of groups need not exist: those that do are registered."""
        nodes = {name: harness_of_aws.nodes[name] for name in ("cp-1", "w-1")}
        yield replace(harness_of_aws, nodes=nodes, settle=0.5 if "many_at_once" in request.node.name else 0.02)

    async def test_what_is_shared_is_kept_while_others_use_it(self, harness: AwsHarness) -> None:  # type: ignore[override]
        """Clusters on AWS share nothing."""
        assert not any(spec.shared for spec in harness.provider().resources())
