"""The preflight of what AWS offers: availability zones, instance types, images and quotas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from talosmith.model.versions import Version
from talosmith.providers.aws import checks_types
from tests.simulators.aws import images
from tests.unit.providers.aws.aws_findings import ACCOUNT, MACHINES, look, the_error, the_only, with_options
from tests.unit.providers.aws.aws_harness import REGION, AwsHarness

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


# Zones, instance types, images


async def test_a_zone_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, azs=["eu-central-1a", "eu-central-1x"]), "availability zones")
    assert "eu-central-1x" in found.cause and "eu-central-1b" in found.evidence and "`aws.azs`" in found.fix


async def test_a_region_that_is_not_enabled(harness: AwsHarness) -> None:
    harness.cloud.refuse("ec2:DescribeAvailabilityZones", "OptInRequired", "You are not subscribed to this service")
    found = await the_error(harness, "region")
    assert REGION in found.cause and "OptInRequired" in found.evidence
    assert found.fix.splitlines()[1] == f"aws account enable-region --region-name {REGION}"


async def test_an_instance_type_that_does_not_exist(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t9.huge"}
    found = await the_error(with_options(harness, instance_type=kinds), "instance type t9.huge")
    assert "no instance type t9.huge" in found.cause and found.evidence == "for w-1"
    assert "`aws.instance_type`" in found.fix


async def test_an_instance_type_that_the_zone_does_not_offer(
    harness: AwsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.ec2.models import instance_types

    offered = instance_types.INSTANCE_TYPE_OFFERINGS["availability-zone"]
    elsewhere = [
        one for one in offered[REGION] if (one["InstanceType"], one["Location"]) != ("t3.medium", f"{REGION}a")
    ]
    monkeypatch.setitem(offered, REGION, elsewhere)
    found = await the_error(harness, "instance type t3.medium")
    assert f"{REGION}a does not offer t3.medium" in found.cause and f"{REGION}b" in found.evidence
    assert "`az`" in found.fix


async def test_an_instance_type_of_another_architecture(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t4g.medium"}
    found = await the_error(with_options(harness, instance_type=kinds), "instance type t4g.medium")
    assert found.cause == "t4g.medium is arm64, and w-1 is amd64" and "`arch: arm64`" in found.fix


async def test_t2_instances(harness: AwsHarness) -> None:
    kinds = {"controlplane": "t3.medium", "workers": "t2.medium"}
    found = await the_only(with_options(harness, instance_type=kinds), "warning", "instance type t2.medium")
    assert "t2" in found.cause and "t3" in found.fix


async def test_an_instance_type_that_is_too_small(harness: AwsHarness) -> None:
    found = await the_only(with_options(harness, instance_type="t3.micro"), "warning", "instance type t3.micro")
    assert "1024 MiB" in found.cause and "2048" in found.cause and found.evidence == "for cp-1"


async def test_a_version_without_an_image(harness: AwsHarness) -> None:
    specs = [replace(spec, talos_version=Version.parse("v1.99.0")) for spec in MACHINES]
    found = await the_error(harness, "image talos-v1.99.0-eu-central-1-amd64", specs)
    assert "Sidero Labs has published no such image" in found.cause and "540036508848" in found.evidence
    assert "`talos_version`" in found.fix and "`aws.ami`" in found.fix


async def test_a_given_image_that_does_not_exist(harness: AwsHarness) -> None:
    found = await the_error(with_options(harness, ami="ami-0123456789abcdef0"), "image ami-0123456789abcdef0")
    assert "does not exist in eu-central-1" in found.cause and ACCOUNT in found.evidence


async def test_a_given_image_of_another_architecture(harness: AwsHarness) -> None:
    given = images.image_id("v1.13.9", REGION, "arm64")
    found = await the_error(with_options(harness, ami=given), f"image {given}")
    assert found.cause == "the image is arm64, and nodes are amd64" and given in found.evidence


def register(harness: AwsHarness, root: str) -> str:
    """An image of the caller's own; moto would choose its root device."""
    made = str(harness.client("ec2").register_image(Name="mine", Architecture="x86_64")["ImageId"])
    for backend in harness.cloud.ec2_backends():
        if made in backend.amis:
            backend.amis[made].root_device_name = root
    return made


async def test_a_given_image_of_other_makers(harness: AwsHarness) -> None:
    own = register(harness, "/dev/xvda")
    found = await the_only(with_options(harness, ami=own), "note", f"image {own}")
    assert ACCOUNT in found.cause and "540036508848" in found.cause and "`aws.ami`" in found.fix


async def test_a_given_image_with_another_root_device(harness: AwsHarness) -> None:
    """A disk of the inventory's size would be added to it, instead of being the one that Talos is on."""
    own = register(harness, "/dev/sda1")
    found = await the_error(with_options(harness, ami=own), f"image {own}")
    assert "/dev/sda1" in found.cause and "/dev/xvda" in found.fix


def test_an_image_that_is_larger_than_the_disk() -> None:
    """The simulated AWS does not tell the sizes of an image's disks."""
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 30}}
    image = {"ImageId": "ami-1", "Architecture": "x86_64", "BlockDeviceMappings": [disk]}
    (found,) = checks_types._image("image ami-1", image, "amd64", [20480])
    assert found.level == "error" and "30 GiB" in found.cause and found.fix == "set `disk` to 30G or more"
    (found,) = checks_types._image("image ami-1", {**image, "State": "pending"}, "amd64", [40960])
    assert found.level == "error" and found.cause == "the image is pending"


# Quotas


@pytest.mark.parametrize(
    ("key", "limit", "check", "options"),
    [
        (("ec2", "L-1216C47A"), 3, "quota of on-demand vCPUs", {}),
        (("ec2", "L-34B43A08"), 1, "quota of spot vCPUs", {"spot": True}),
        (("vpc", "L-F678F1CE"), 1, "quota of VPCs", {}),
        (("vpc", "L-A4707A72"), 0, "quota of internet gateways", {}),
        (("ec2", "L-0263D0A3"), 1, "quota of Elastic IPs", {"private": True, "nat_gateways": "each-az"}),
        (("elasticloadbalancing", "L-69A177A2"), 0, "quota of Network Load Balancers", {}),
    ],
)
async def test_a_quota_that_is_too_small(
    harness: AwsHarness, key: tuple[str, str], limit: int, check: str, options: dict[str, Any]
) -> None:
    harness.cloud.quotas[key] = float(limit)
    found = await the_error(with_options(harness, **options), check)
    assert (
        f"a quota of {limit} " in found.cause
        and f" of {limit} " in found.evidence
        and "more wanted" in found.evidence
    )
    command = found.fix.splitlines()[1]
    assert command.startswith("aws service-quotas request-service-quota-increase") and key[1] in command


async def test_what_others_run_counts(harness: AwsHarness) -> None:
    ec2 = harness.client("ec2")
    image = images.image_id("v1.13.9", REGION)
    ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, InstanceType="m5.4xlarge")
    harness.cloud.quotas["ec2", "L-1216C47A"] = 19.0
    found = await the_error(harness, "quota of on-demand vCPUs")
    assert found.evidence == "16 of 19 vCPUs in use, 4 more wanted"


async def test_quotas_that_may_not_be_read(harness: AwsHarness) -> None:
    harness.cloud.deny("servicequotas:GetServiceQuota")
    found = [one for one in await look(harness) if one.check.startswith("quota")]
    assert [(one.level, one.check) for one in found] == [("note", "quotas")]
    assert "not checked" in found[0].cause and "render aws-policy" in found[0].fix
