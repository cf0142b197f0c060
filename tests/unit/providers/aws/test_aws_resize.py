"""What of a machine on AWS is changed in place, while it runs or with a restart, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.provider_contract import persist, refusal
from tests.simulators.aws import Cloud, Server
from tests.unit.providers.aws.aws_harness import (
    LEADER,
    OWNER,
    WORKER,
    ZONES,
    AwsHarness,
    standing,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def harness(empty_aws: tuple[Cloud, Server]) -> AwsHarness:
    return await standing(*empty_aws)


def described(harness: AwsHarness, identity: str) -> dict[str, Any]:
    asked = harness.client("ec2").describe_instances(InstanceIds=[identity])
    return dict(asked["Reservations"][0]["Instances"][0])


# Changes in place


async def test_another_instance_type_needs_a_stop(harness: AwsHarness) -> None:
    await harness.provider().create(WORKER)
    larger = harness.wanting(instance_type="t3.large")
    machine = await larger.found()
    assert machine.outdated == "instance type from t3.medium to t3.large" and not machine.outdated_running
    resized = await larger.provider().resize(machine, larger.nodes["w-1"])
    assert resized.power == "on" and resized.id == machine.id and not (await larger.found()).outdated
    assert [one for one in harness.changes() if one != "RunInstances"] == [
        "StopInstances", "ModifyInstanceAttribute", "StartInstances",
    ]  # fmt: skip


async def test_a_disk_grows_while_the_machine_runs(harness: AwsHarness) -> None:
    await harness.provider().create(WORKER)
    larger = harness.wanting(disks_mib=(40960, 10240))
    resized = await larger.provider().resize(await larger.found(), larger.nodes["w-1"])
    assert resized.disks_mib == (40960, 10240) and resized.power == "on"
    assert [one for one in harness.changes() if one != "RunInstances"] == ["ModifyVolume"]


async def test_a_disk_more(harness: AwsHarness) -> None:
    await harness.provider().create(WORKER)
    more = harness.wanting(disks_mib=(20480, 10240, 5120))
    resized = await more.provider().resize(await more.found(), more.nodes["w-1"])
    assert resized.disks_mib == (20480, 10240, 5120)
    (made,), (attached,) = harness.sent("CreateVolume"), harness.sent("AttachVolume")
    assert made["Encrypted"] and made["VolumeType"] == "gp3" and attached["Device"] == "/dev/sdc"
    assert {"Key": "talosmith-id", "Value": OWNER.id} in made["TagSpecifications"][0]["Tags"]
    await more.provider().destroy(resized)
    assert not harness.client("ec2").describe_volumes()["Volumes"]


async def test_tags_hop_limit_and_profile_change_while_the_machine_runs(harness: AwsHarness) -> None:
    await harness.provider().create(WORKER)
    changed = harness.given(tags={"team": "a"}, iam=["cloud-controller"])
    await changed.stand(changed.provider())
    machine = await changed.found()
    assert not machine.outdated and not machine.fixed
    for text in ("hop limit of the instance metadata from 1 to 2", "tag team from none to a", "profile from none to"):
        assert text in machine.outdated_running
    await changed.provider().resize(machine, WORKER)
    assert not (await changed.found()).outdated_running
    assert described(harness, machine.id)["IamInstanceProfile"]["Arn"].endswith("-workers")
    back = harness.given(tags={"team": "a"}, metadata_hop_limit=2)
    await back.provider().resize(await back.found(), WORKER)
    assert not (await back.found()).outdated_running and not described(harness, machine.id).get("IamInstanceProfile")
    assert not {"StopInstances", "StartInstances"} & {*harness.changes()}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"disks_mib": (10240, 10240)}, "disk 0 has 20480 MiB and would shrink to 10240 MiB"),
        ({"disks_mib": (20480,)}, "has 2 disks and would lose some"),
        ({"ip": "10.0.0.200"}, "cannot be changed in place: "),
        ({"zone": ZONES[1]}, "cannot be changed in place: "),
    ],
)
async def test_what_cannot_be_changed_is_refused(harness: AwsHarness, settings: dict[str, Any], said: str) -> None:
    await harness.provider().create(WORKER)
    other = harness.wanting(**settings)
    before = harness.cloud.kept()
    refused = await refusal(other.provider().resize(await other.found(), other.nodes["w-1"]))
    assert said in str(refused) and "replace the node" in str(refused.hint)
    assert [one.name for one in (await other.found()).fixed] == [
        {"ip": "ip", "zone": "az"}[key] for key in settings if key != "disks_mib"
    ]
    assert harness.cloud.kept() == before


# Reaching and ending


async def test_machines_that_are_reached_at_private_addresses(harness: AwsHarness) -> None:
    public = await harness.provider().create(WORKER)
    assert public.endpoint and public.endpoint not in public.addresses
    private = await harness.given(reach="private").found()
    assert not private.endpoint and private.addresses == (str(WORKER.ip),)


async def test_protection_of_a_control_plane_by_hand_ends_with_it(harness: AwsHarness) -> None:
    open_ = harness.given(termination_protection=False)
    made = await open_.provider().create(LEADER)
    harness.client("ec2").modify_instance_attribute(InstanceId=made.id, DisableApiTermination={"Value": True})
    await persist(lambda: open_.provider().destroy(made))
    assert not harness.cloud.instances()


async def test_protection_of_a_worker_by_hand_is_respected(harness: AwsHarness) -> None:
    """talosmith protects none, so this is the user's own."""
    made = await harness.provider().create(WORKER)
    harness.client("ec2").modify_instance_attribute(InstanceId=made.id, DisableApiTermination={"Value": True})
    refused = await refusal(harness.provider().destroy(made))
    assert "end the protection in EC2" in str(refused.hint) and harness.cloud.instances()
