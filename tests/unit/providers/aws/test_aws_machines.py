"""How machines are launched on AWS, changed in place and terminated, and what is said when that cannot be done."""

from __future__ import annotations

import base64
import gzip
from dataclasses import replace
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.model.resources import SettingChange
from talosmith.model.secret import Secret
from talosmith.providers.aws.failures import There
from tests.provider_contract import refusal
from tests.simulators.aws import Cloud, Server, images
from tests.unit.providers.aws.aws_harness import (
    LEADER,
    OWNER,
    REGION,
    WORKER,
    ZONES,
    AwsHarness,
    standing,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def harness(empty_aws: tuple[Cloud, Server]) -> AwsHarness:
    return await standing(*empty_aws)


async def launched(harness: AwsHarness, name: str = "w-1", seed: Secret | None = None) -> dict[str, Any]:
    """What its launch asked for."""
    await harness.provider().create(harness.nodes[name], seed)
    return harness.sent("RunInstances")[-1]


# What a launch asks for


async def test_a_launch(harness: AwsHarness) -> None:
    asked = await launched(harness)
    assert asked["MetadataOptions"] == {
        "HttpTokens": "required", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 1,
    }  # fmt: skip
    disks = [(one["DeviceName"], one["Ebs"]) for one in asked["BlockDeviceMappings"]]
    common = {"VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True}
    assert disks == [("/dev/xvda", {"VolumeSize": 20, **common}), ("/dev/sdb", {"VolumeSize": 10, **common})]
    assert asked["ImageId"] == images.image_id("v1.13.9", REGION) and asked["InstanceType"] == "t3.medium"
    (interface,) = asked["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == str(WORKER.ip) and interface["Groups"] == [harness.group("nodes")]
    assert not {"DisableApiTermination", "InstanceMarketOptions", "IamInstanceProfile", "UserData"} & set(asked)


async def test_tags_are_on_the_instance_its_volumes_and_its_interface(harness: AwsHarness) -> None:
    asked = await launched(harness.given(tags={"team": "a"}))
    kinds = {
        one["ResourceType"]: {tag["Key"]: tag["Value"] for tag in one["Tags"]} for one in asked["TagSpecifications"]
    }
    own = {
        **OWNER.tags("w-1", "worker"),
        "Name": "w-1",
        "team": "a",
        harness.settings().marks.kubernetes_tag: "owned",
    }
    assert kinds == dict.fromkeys(("instance", "volume", "network-interface"), own)
    volumes = harness.client("ec2").describe_volumes(Filters=[{"Name": "tag:team", "Values": ["a"]}])["Volumes"]
    assert len(volumes) == 2 and all(one["Encrypted"] and one["VolumeType"] == "gp3" for one in volumes)


async def test_control_planes_are_protected_against_termination(harness: AwsHarness) -> None:
    asked = await launched(harness, "cp-1")
    assert asked["DisableApiTermination"] is True
    assert {*asked["NetworkInterfaces"][0]["Groups"]} == {harness.group("nodes"), harness.group("controlplane")}
    await harness.provider().destroy(await harness.found("cp-1"))
    open_ = harness.given(termination_protection=False)
    assert "DisableApiTermination" not in await launched(open_, "cp-1")


async def test_workers_alone_are_spot_instances(harness: AwsHarness) -> None:
    spot = harness.given(spot=True)
    asked = await launched(spot)
    assert asked["InstanceMarketOptions"]["MarketType"] == "spot"
    assert asked["InstanceMarketOptions"]["SpotOptions"]["InstanceInterruptionBehavior"] == "terminate"
    assert "InstanceMarketOptions" not in await launched(spot, "cp-1")


async def test_a_worker_that_is_no_spot_instance_stays_one_and_that_is_drift(harness: AwsHarness) -> None:
    for name in ("w-1", "cp-1"):
        await launched(harness, name)
    now = {one.name: one.kept for one in await harness.given(spot=True).provider().find()}
    assert now == {"w-1": (SettingChange("spot", False, True),), "cp-1": ()}
    assert [one.kept for one in await harness.provider().find()] == [(), ()]


async def test_arm64(harness: AwsHarness) -> None:
    asked = await launched(harness.wanting(arch="arm64", instance_type="t4g.medium"))
    assert asked["ImageId"] == images.image_id("v1.13.9", REGION, "arm64") and asked["InstanceType"] == "t4g.medium"


async def test_with_the_cloud_controller_pods_reach_the_metadata(harness: AwsHarness) -> None:
    more = harness.given(iam={"controlplane": ["cloud-controller"], "workers": []})
    await more.stand(more.provider())
    leader, worker = await launched(more, "cp-1"), await launched(more)
    assert leader["MetadataOptions"]["HttpPutResponseHopLimit"] == 2
    assert leader["IamInstanceProfile"] == {"Name": f"talosmith-{OWNER.id}-controlplane"}
    assert "IamInstanceProfile" not in worker


async def test_disks_are_encrypted_with_a_key_of_the_users_own(harness: AwsHarness) -> None:
    key = f"arn:aws:kms:{REGION}:123456789012:key/0b4a1f7e-0000-4000-8000-000000000001"
    asked = await launched(harness.given(kms_key=key))
    assert {one["Ebs"]["KmsKeyId"] for one in asked["BlockDeviceMappings"]} == {key}


async def test_user_data_is_the_config_and_compressed_if_it_is_large(harness: AwsHarness) -> None:
    small, large = "machine: {}\n", "machine: {}\n" + "# the same again\n" * 1000
    asked = await launched(harness, seed=Secret(small))
    assert base64.b64decode(asked["UserData"]).decode() == small
    asked = await launched(harness, "cp-1", Secret(large))
    assert gzip.decompress(base64.b64decode(asked["UserData"])).decode() == large


# Which image


async def test_an_image_of_the_same_name_by_another_account_is_never_used(harness: AwsHarness) -> None:
    """It is newer than the vendor's."""
    name = images.image_name("v1.13.9", REGION)
    there = harness.client("ec2").describe_images(Filters=[{"Name": "name", "Values": [name]}])["Images"]
    newest = max(there, key=lambda one: str(one["CreationDate"]))
    assert images.is_fake(newest["ImageId"])
    assert (await launched(harness))["ImageId"] == images.image_id("v1.13.9", REGION)


async def test_a_given_image(harness: AwsHarness) -> None:
    other = images.image_id("v1.12.1", REGION)
    assert (await launched(harness.given(ami=other)))["ImageId"] == other
    refused = await refusal(harness.given(ami="ami-0123456789abcdef0").provider().create(LEADER))
    assert "ami-0123456789abcdef0 does not exist" in str(refused) and "`aws.ami`" in str(refused.hint)


async def test_a_version_without_an_image(harness: AwsHarness) -> None:
    other = replace(WORKER, talos_version=replace(WORKER.talos_version, patch=77))
    refused = await refusal(harness.provider().create(other))
    assert f"talos-v1.13.77-{REGION}-amd64" in str(refused) and "`talos_version`" in str(refused.hint)


# Once, and again


async def test_a_machine_that_was_terminated_is_created_again(harness: AwsHarness) -> None:
    provider = harness.provider()
    ids = []
    for _ in range(3):
        ids.append((await provider.create(WORKER)).id)
        await provider.destroy(await harness.found())
    tokens = [one["ClientToken"] for one in harness.sent("RunInstances")]
    assert len({*ids}) == len({*tokens}) == 3


async def test_a_token_that_is_used_up_by_an_instance_that_is_no_longer_listed(harness: AwsHarness) -> None:
    harness.cloud.refuse("ec2:RunInstances", "IdempotentInstanceTerminated", times=2)
    made = await harness.provider().create(WORKER)
    tokens = [call.params["ClientToken"] for call in harness.cloud.calls if call.action == "RunInstances"]
    assert len({*tokens}) == 3 and [one.id for one in harness.cloud.instances()] == [made.id]


async def test_other_settings_while_the_first_instance_is_not_visible(harness: AwsHarness) -> None:
    harness.cloud.hide_new(60)
    first = await harness.provider().create(WORKER)
    other = harness.given(tags={"team": "a"}).provider()
    with pytest.raises(Temporary, match="w-1: not visible yet"):
        await other.create(WORKER)
    harness.cloud.pass_time(61)
    assert (await other.create(WORKER)).id == first.id


async def test_an_instance_that_dies_is_created_again(harness: AwsHarness) -> None:
    provider = harness.provider()
    first = await provider.create(WORKER)
    harness.cloud.kill_instance(first.id)
    assert not await harness.provider().find()
    with pytest.raises(Permanent, match="'w-1' is gone"):
        await provider.power(first, on=True)
    second = await harness.provider().create(WORKER)
    assert second.id != first.id and (await harness.found()).id == second.id


# What AWS refuses for now


@pytest.mark.parametrize(
    ("code", "message", "said", "hint"),
    [
        ("InsufficientInstanceCapacity", "We have no t3.medium", "no t3.medium", "another `instance_type` or `az`"),
        (
            "InvalidParameterValue",
            "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
            "the instance profile is not visible yet",
            "",
        ),
    ],
)
async def test_what_passes_is_tried_again(harness: AwsHarness, code: str, message: str, said: str, hint: str) -> None:
    harness.cloud.refuse("ec2:RunInstances", code, message)
    provider = harness.provider()
    with pytest.raises(Temporary) as wrong:
        await provider.create(WORKER)
    assert said in str(wrong.value) and hint in (wrong.value.hint or "") and wrong.value.retry_after
    assert (await provider.create(WORKER)).name == "w-1"


async def test_an_address_that_a_foreign_instance_has(harness: AwsHarness) -> None:
    foreign = await harness.intrude("w-1", {})
    refused = await refusal(harness.provider().create(WORKER))
    assert isinstance(refused, There) and foreign in str(refused) and str(WORKER.ip) in str(refused)
    assert "set another `ip`" in str(refused.hint)


@pytest.mark.parametrize("by_aws", [True, False])
async def test_an_address_that_another_network_interface_has(harness: AwsHarness, by_aws: bool) -> None:
    """Of a load balancer or a database; or one that a user made, and no instance has."""
    ec2 = harness.client("ec2")
    mine = [{"Name": "tag:talosmith-resource", "Values": [f"subnet {ZONES[0]}"]}]
    subnet = ec2.describe_subnets(Filters=mine)["Subnets"][0]["SubnetId"]
    made = ec2.create_network_interface(SubnetId=subnet, PrivateIpAddress=str(WORKER.ip), Description="RDS")
    identity = made["NetworkInterface"]["NetworkInterfaceId"]
    for backend in harness.cloud.ec2_backends():
        if identity in backend.enis:
            backend.enis[identity].requester_managed = by_aws
    refused = await refusal(harness.provider().create(WORKER))
    assert str(WORKER.ip) in str(refused) and "RDS" in str(refused) and "free the address" in str(refused.hint)
