"""AWS at its worst: faults, throttling, capacity that is not there, credentials that end, machines that die."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.aws.outcomes_aws import converged
from tests.lab.aws.sites import Computer

pytestmark = pytest.mark.slow

Computers = Callable[..., Computer]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.real)])
def test_one_call_in_ten_fails(computers: Computers, seed: int) -> None:
    """Half of them after they had their effect: there is never a second of anything."""
    computer = computers()
    cloud = computer.at.cloud
    cloud.fail_some(10, seed=seed)
    for _ in range(3):
        if computer.run("up", "--yes").code == 0:
            break
    cloud.fail_some(0)
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1"])
    cloud.fail_some(10, seed=seed)
    for _ in range(3):
        if computer.run(*computer.destroying).code == 0:
            break
    cloud.fail_some(0)
    computer.must(*computer.destroying)
    computer.assert_clean()


def test_credentials_that_expire_in_the_middle(computers: Computers) -> None:
    computer = computers()
    cloud = computer.at.cloud

    def expire(call: object) -> None:
        if getattr(call, "action", "") == "CreateSubnet":
            cloud.expire_credentials()

    cloud.watchers.append(expire)
    ended = computer.run("up", "--yes")
    assert ended.code in (1, 3), ended.said
    assert "the AWS credentials have expired" in ended.said and "aws sso login" in ended.said
    cloud.watchers.remove(expire)
    cloud.renew_credentials()
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1"])


def test_a_region_without_the_image(computers: Computers) -> None:
    computer = computers()
    computer.change("../base/cluster.yaml", ("eu-central-1", "eu-north-1"))
    ended = computer.run("up", "--yes")
    assert ended.code == 1 and "has published no such image in eu-north-1" in ended.said, ended.said
    assert not computer.aws_calls(mutating=True)


@pytest.mark.real  # for its length alone
def test_a_spot_instance_that_is_taken_back_is_replaced(computers: Computers) -> None:
    computer = computers()
    computer.change("cluster.yaml", ("  domain: sandbox", "  spot: true\n  domain: sandbox"))
    assert "1 × t3.medium (spot)" in computer.must("plan", code=2)
    computer.must("up", "--yes")
    before = computer.instances()["w-1"].id
    computer.at.cloud.kill_instance(before)
    computer.must("up", "--yes")
    assert computer.instances()["w-1"].id != before
    converged(computer, ["cp-1"], ["w-1"])
    computer.must(*computer.destroying)
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_throttled_and_slow(computers: Computers) -> None:
    """What takes AWS its time is waited for, and what is refused for being too much is repeated."""
    computer = computers()
    cloud = computer.at.cloud
    cloud.balancer_takes, cloud.terminate_takes, cloud.linger, cloud.launch_takes = 1.0, 0.5, 1.0, 0.3
    cloud.throttle(5)
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1"])
    cloud.throttle(5)
    computer.must(*computer.destroying)
    computer.assert_clean()


def test_two_computers_at_once(computers: Computers) -> None:
    """The same inventory and secrets, in the same account: one VPC, one instance for each node, one etcd."""
    computer = computers()
    twin = computers(account=computer.account)
    twin.change("../base/cluster.yaml", (twin.network, computer.network), (twin.domain, computer.domain))
    twin.change("cluster.yaml", (twin.domain, computer.domain))
    twin.at.guests.labs.pop(twin.network)
    computer.before = computer.kept()
    with computer.start("up", "--yes") as one, twin.start("up", "--yes") as other:
        ended = [one.wait(), other.wait()]
    assert 0 in [run.code for run in ended], [run.said for run in ended]
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1"])
    computer.must(*computer.destroying)
    computer.assert_clean()
