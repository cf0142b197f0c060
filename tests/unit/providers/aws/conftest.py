"""A simulated AWS, empty before each test, and in front of it a cluster of two nodes that does not exist yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # moto takes seconds to import
    from tests.simulators.aws import Cloud, Server
    from tests.unit.providers.aws.aws_harness import AwsHarness

pytest.register_assert_rewrite("tests.unit.providers.aws.aws_findings")


@pytest.fixture(scope="module")
def aws() -> Iterator[tuple[Cloud, Server]]:
    """The simulated AWS, and where it answers."""
    from tests.simulators.aws import Cloud, serving

    cloud = Cloud()
    with serving(cloud) as server:
        yield cloud, server


@pytest.fixture
def empty_aws(aws: tuple[Cloud, Server], monkeypatch: pytest.MonkeyPatch) -> tuple[Cloud, Server]:
    """With a hosted zone and nothing else; credentials and endpoint are in the environment."""
    from tests.unit.providers.aws.aws_harness import without_pauses

    cloud, server = aws
    cloud.reset()
    cloud.add_hosted_zone("example.org")
    without_pauses(monkeypatch, server)
    return cloud, server


@pytest.fixture
def harness(empty_aws: tuple[Cloud, Server], monkeypatch: pytest.MonkeyPatch) -> AwsHarness:
    """For the preflight: the DNS record resolves."""
    from talosmith.providers.aws import checks_record
    from tests.unit.providers.aws.aws_findings import resolving
    from tests.unit.providers.aws.aws_harness import BOTH, RECORD, AwsHarness

    cloud, server = empty_aws
    monkeypatch.setattr(checks_record, "resolves", resolving(RECORD))
    return AwsHarness(cloud, server, nodes=BOTH)
