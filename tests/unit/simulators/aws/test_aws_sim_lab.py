"""Nodes of the lab behind the instances of the simulated AWS."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith_lab.machine import Machine
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.loopback import free_network
from tests.simulators.aws.lab_guests import Boot, LabGuests, listens
from tests.unit.simulators.aws.aws_clients import Aws

pytestmark = pytest.mark.slow  # moto takes seconds to import

CONFIG = "version: v1alpha1\nmachine:\n  type: worker\n"


class Behind:
    """A lab behind the cloud; `do` is done in a thread, for the lab is in the test's event loop."""

    def __init__(self, aws: Aws, lab: LabServer, guests: LabGuests, network: str) -> None:
        self.aws, self.lab, self.guests, self.prefix = aws, lab, guests, network.removesuffix("0/24")
        self.subnet = ""

    async def do(self, act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        done = await asyncio.to_thread(act, *args, **kwargs)
        await asyncio.to_thread(self.guests.settle)
        assert not self.guests.problems
        return done

    def machine(self, name: str) -> Machine:
        return self.lab.world.machine(name)


@pytest.fixture
async def behind(aws: Aws, tmp_path: Path) -> AsyncIterator[Behind]:
    network = free_network()
    async with LabServer(tmp_path, LabOptions(clock="instant", network=network, token="let-me-in")) as lab:
        guests = LabGuests(lab, asyncio.get_running_loop(), "v1.13.9")
        guests.behind(aws.cloud)
        found = Behind(aws, lab, guests, network)
        vpc = await found.do(aws.vpc, network)
        found.subnet = await found.do(aws.subnet, vpc, f"{found.prefix}0/28")
        yield found


def _named(name: str) -> dict[str, Any]:
    tags = [{"Key": "talosmith-node", "Value": name}]
    return {"TagSpecifications": [{"ResourceType": "instance", "Tags": tags}]}


async def test_an_instance_is_a_node_in_maintenance_mode(behind: Behind) -> None:
    aws, address = behind.aws, f"{behind.prefix}10"
    disks = [
        {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 5}},
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20}},
    ]
    params = {"PrivateIpAddress": address, "BlockDeviceMappings": disks, **_named("cp-1")}
    instance = await behind.do(aws.launch, behind.subnet, **params)
    machine = behind.machine("cp-1")
    assert (machine.address, machine.cpu, machine.memory_mib, machine.on) == (address, 2, 4096, True)
    assert [(disk.device, disk.size >> 30) for disk in machine.disks] == [("/dev/nvme0n1", 20), ("/dev/nvme1n1", 5)]
    assert behind.guests.boots == [Boot(instance, "cp-1", address, False)]
    assert machine.platform == "aws" and await asyncio.to_thread(listens, address, 50000)
    found = await behind.do(aws.instance, instance)
    assert found["PrivateIpAddress"] == address


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
async def test_user_data_is_the_machine_config(behind: Behind, pack: Callable[[str], bytes]) -> None:
    await behind.do(behind.aws.launch, behind.subnet, UserData=pack(CONFIG), **_named("w-1"))
    assert behind.guests.boots[0].configured
    assert behind.lab.world.texts[behind.machine("w-1").seed] == CONFIG


async def test_power_and_growth_follow(behind: Behind) -> None:
    aws = behind.aws
    instance = await behind.do(aws.launch, behind.subnet, **_named("w-1"))
    await behind.do(aws.ec2.stop_instances, InstanceIds=[instance])
    assert not behind.machine("w-1").on
    volume = (await behind.do(aws.ec2.describe_volumes))["Volumes"][0]["VolumeId"]
    await behind.do(aws.ec2.modify_volume, VolumeId=volume, Size=40)
    await behind.do(aws.ec2.modify_instance_attribute, InstanceId=instance, InstanceType={"Value": "m6i.xlarge"})
    await behind.do(aws.ec2.start_instances, InstanceIds=[instance])
    machine = behind.machine("w-1")
    assert (machine.on, machine.cpu, machine.disks[0].size >> 30) == (True, 4, 40)
    await behind.do(aws.ec2.reboot_instances, InstanceIds=[instance])
    assert behind.machine("w-1").on and len(behind.guests.boots) == 2


async def test_a_terminated_instance_leaves_its_name_and_address_to_the_next(behind: Behind) -> None:
    aws = behind.aws
    params = {"PrivateIpAddress": f"{behind.prefix}10", **_named("cp-1")}
    first = await behind.do(aws.launch, behind.subnet, **params)
    twin = await behind.do(aws.launch, behind.subnet, **_named("cp-1"))
    assert behind.guests.machine_of(twin) == f"cp-1-{twin}"
    await behind.do(aws.ec2.terminate_instances, InstanceIds=[first])
    await behind.do(aws.cloud.kill_instance, twin)
    assert not behind.lab.control.list_machines()
    await behind.do(aws.launch, behind.subnet, **params)
    assert behind.machine("cp-1").on
