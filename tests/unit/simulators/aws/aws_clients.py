"""Clients of the simulated AWS, and what most tests create first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.simulators.aws import Cloud, Server, images

REGION = "eu-central-1"
IMAGE = images.image_id("v1.13.9", REGION)
_session = boto3.session.Session()
_once = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20)
_clients: dict[tuple[str, str, str, str], Any] = {}  # building one costs more than most calls


@contextmanager
def refused(code: str, text: str = "") -> Iterator[pytest.ExceptionInfo[ClientError]]:
    with pytest.raises(ClientError) as caught:
        yield caught
    assert caught.value.response["Error"]["Code"] == code
    assert text in caught.value.response["Error"]["Message"]


class Aws:
    """Clients, and what most tests need first."""

    def __init__(self, cloud: Cloud, server: Server, account: str = "", region: str = REGION) -> None:
        self.cloud, self.server, self.account, self.region = cloud, server, account, region

    def client(self, service: str, retries: bool = False) -> Any:
        key = (service, self.server.url + str(retries), self.account, self.region)
        if key not in _clients:
            env = self.server.env(self.account)
            _clients[key] = _session.client(
                service, endpoint_url=self.server.url, region_name=self.region,
                aws_access_key_id=env["AWS_ACCESS_KEY_ID"], aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
                config=None if retries else _once,
            )  # fmt: skip
        return _clients[key]

    def other(self, account: str, region: str = REGION) -> Aws:
        return Aws(self.cloud, self.server, account, region)

    ec2 = property(lambda self: self.client("ec2"))
    elbv2 = property(lambda self: self.client("elbv2"))
    iam = property(lambda self: self.client("iam"))
    route53 = property(lambda self: self.client("route53"))

    def vpc(self, cidr: str = "127.201.7.0/24") -> str:
        return str(self.ec2.create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"])

    def subnet(self, vpc: str, cidr: str = "127.201.7.0/28", zone: str = "a") -> str:
        made = self.ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=self.region + zone)
        return str(made["Subnet"]["SubnetId"])

    def group(self, vpc: str, name: str = "nodes") -> str:
        return str(self.ec2.create_security_group(GroupName=name, Description="of nodes", VpcId=vpc)["GroupId"])

    def launching(self, subnet: str, **params: Any) -> dict[str, Any]:
        wanted = {"ImageId": IMAGE, "InstanceType": "t3.medium", "MinCount": 1, "MaxCount": 1, "SubnetId": subnet}
        return {**wanted, **params}

    def launch(self, subnet: str, **params: Any) -> str:
        made = self.ec2.run_instances(**self.launching(subnet, **params))
        return str(made["Instances"][0]["InstanceId"])

    def instance(self, name: str) -> dict[str, Any]:
        found = self.ec2.describe_instances(InstanceIds=[name])
        return dict(found["Reservations"][0]["Instances"][0])

    def balancer(self, subnet: str, name: str = "api", **params: Any) -> str:
        made = self.elbv2.create_load_balancer(Name=name, Type="network", Subnets=[subnet], **params)
        return str(made["LoadBalancers"][0]["LoadBalancerArn"])

    def target_group(self, vpc: str, name: str = "api", port: int = 6443) -> str:
        made = self.elbv2.create_target_group(
            Name=name, Protocol="TCP", Port=port, VpcId=vpc, TargetType="instance", HealthCheckProtocol="TCP"
        )
        return str(made["TargetGroups"][0]["TargetGroupArn"])

    def listener(self, balancer: str, group: str, port: int = 6443) -> str:
        made = self.elbv2.create_listener(
            LoadBalancerArn=balancer, Protocol="TCP", Port=port,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": group}],
        )  # fmt: skip
        return str(made["Listeners"][0]["ListenerArn"])
