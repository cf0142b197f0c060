"""The environments of the example, as a person brings them up, changes and removes them: each command typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from tests.lab.aws.outcomes_aws import converged
from tests.lab.aws.sites import ENVIRONMENTS, Computer

pytestmark = pytest.mark.slow

Computers = Callable[..., Computer]
NODES = {"sandbox": (1, 1), "staging": (3, 2), "production": (3, 6)}  # control planes and workers
MOST_CALLS = 21  # of a plan without changes; one is for the policy `cloud-controller`


def names(environment: str) -> tuple[list[str], list[str]]:
    leading, working = NODES[environment]
    return [f"cp-{number}" for number in range(1, leading + 1)], [f"w-{number}" for number in range(1, working + 1)]


def second_up_changes_nothing(computer: Computer) -> None:
    before = len(computer.aws_calls(mutating=True))
    assert "in sync" in computer.must("up", "--yes")
    assert len(computer.aws_calls(mutating=True)) == before
    calls = len(computer.aws_calls())
    computer.must("plan")
    asked = [f"{call.service}:{call.action}" for call in computer.aws_calls()[calls:]]
    assert len(asked) <= MOST_CALLS, asked


def test_sandbox_from_policy_to_destroy(computers: Computers) -> None:
    computer = computers()
    said = computer.must("plan", code=2)
    for line in (
        "create vpc main",
        "+ cidr: 127.",
        "create load-balancer api",
        "create dns-record k8s.sandbox.example",
    ):
        assert line in said, said
    assert "billed by aws: 2 × t3.medium, 2 gp3 volumes of 150 GiB in all, 5 public addresses, 1 network load" in said
    assert not computer.aws_calls(mutating=True)
    computer.must("up", "--yes")
    converged(computer, *names("sandbox"))
    said = computer.must("status")
    assert "talos-sandbox: in sync, healthy" in said and "https://k8s.sandbox.example.org:6443" in said
    assert "✓ Kubernetes API answers at its endpoint" in computer.must("health")
    kubeconfig = yaml.safe_load((computer.folder / "kubeconfig").read_text())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://k8s.sandbox.example.org:6443"
    second_up_changes_nothing(computer)

    instance = computer.instances()["cp-1"]
    assert instance.disable_api_termination in (True, "true") and instance.metadata_options.http_tokens == "required"
    assert computer.instances()["w-1"].disable_api_termination not in (True, "true")

    # Rules and a record that were changed by hand are drift, and mended; what others have is not touched.
    ec2 = computer.client("ec2")
    mine = [{"Name": "tag:talosmith-resource", "Values": ["security-group nodes"]}]
    group = ec2.describe_security_groups(Filters=mine)["SecurityGroups"][0]["GroupId"]
    ssh = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[ssh])
    said = computer.must("plan", code=2)
    assert "update security-group nodes" in said and "~ ingress: - tcp 22 from 0.0.0.0/0" in said, said
    computer.must("up", "--yes")
    converged(computer, *names("sandbox"))

    # More: a worker, a larger type with a restart, a larger disk without, a tag; then less.
    computer.change("cluster.yaml", ("workers:\n  count: 1", "workers:\n  count: 2"))
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1", "w-2"])
    assert len({one.subnet_id for one in computer.instances().values()}) == 2  # cp-1 and w-1; w-2
    computer.append("cluster.yaml", "  disk: 120G\n")
    said = computer.must("plan", code=2)
    assert "~ disk: 102400 MiB → 122880 MiB" in said and "no reboot" in said, said
    boots = len(computer.guests.boots)
    computer.must("up", "--yes")
    assert len(computer.guests.boots) == boots
    types = "instance_type: {controlplane: t3.medium, workers: t3.large}\n  tags: {team: platform}\n  domain: sandbox"
    computer.change("cluster.yaml", ("domain: sandbox", types))
    said = computer.must("plan", code=2)
    assert "instance type from t3.medium to t3.large" in said and "tag team from none to platform" in said, said
    assert "update vpc main" in said and "update load-balancer api" in said and "~ tags: none → team platform" in said
    computer.must("up", "--yes")
    assert [boot.name for boot in computer.guests.boots[boots:]] == ["w-1", "w-2"]
    assert computer.instances()["w-1"].instance_type == "t3.large"
    converged(computer, ["cp-1"], ["w-1", "w-2"])
    computer.change("cluster.yaml", ("count: 2", "count: 1"))
    said = computer.must("plan", code=2)
    assert "cordon and drain" in said and "delete machine and disks" in said
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1"])

    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()
    assert "nothing" in computer.must("destroy", "--confirm", "talos-sandbox")
    assert not [call for call in computer.aws_calls() if call.error.startswith(("Broken", "NotImpl"))]


@pytest.mark.real  # for its length alone
def test_three_environments_at_once(computers: Computers) -> None:
    """Each in its own account, from one base; `-e` chooses."""
    made = [computers(environment) for environment in ENVIRONMENTS]

    def life(computer: Computer) -> None:
        chosen = ("-e", computer.environment, "-i", str(computer.folder.parent))
        ended = computer.run(*chosen, "plan", "-o", "json")
        found = json.loads(ended.out)
        assert found["cluster"] == computer.name and not found["blocked"], ended.said
        computer.must(*chosen, "up", "--yes")
        converged(computer, *names(computer.environment))
        second_up_changes_nothing(computer)
        computer.must(*chosen, "destroy", "--confirm", computer.name, "--yes")
        computer.assert_clean()

    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(life, made))


def test_another_account_is_refused(computers: Computers) -> None:
    computer = computers()
    computer.change("cluster.yaml", ("domain: sandbox", 'account_id: "111111111111"\n  domain: sandbox'))
    said = computer.must("plan", code=6)
    assert f"the AWS credentials are of the account {computer.account}" in said and "111111111111" in said
    assert computer.run("up", "--yes").code == 6
    assert not computer.aws_calls(mutating=True)


@pytest.mark.real  # for its length alone
def test_without_route_53_the_api_is_at_the_load_balancers_own_name(computers: Computers) -> None:
    computer = computers()
    computer.change("cluster.yaml", ("  domain: sandbox.example.org", "  balancer: {talos_api: true}"))
    computer.change("../base/cluster.yaml", ("  hosted_zone: example.org\n", ""))
    assert "dns-record" not in computer.must("plan", code=2)
    computer.must("up", "--yes")
    converged(computer, *names("sandbox"))
    server = yaml.safe_load((computer.folder / "kubeconfig").read_text())["clusters"][0]["cluster"]["server"]
    assert server.startswith("https://talosmith-") and server.endswith(".elb.eu-central-1.amazonaws.com:6443")
    assert json.loads(computer.must("status", "-o", "json"))["endpoint"] == server
    assert computer.done("Bootstrap") == 1
    second_up_changes_nothing(computer)
    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_nodes_in_private_subnets(computers: Computers) -> None:
    """With a NAT gateway in each zone, then with one: what is not wanted any more goes."""
    computer = computers()
    computer.change(
        "cluster.yaml", ("  domain: sandbox", "  private: true\n  nat_gateways: each-az\n  domain: sandbox")
    )
    assert "3 NAT gateways" in computer.must("plan", code=2)
    computer.must("up", "--yes")
    converged(computer, *names("sandbox"))
    assert len(computer.kept()["eu-central-1"]["NAT gateways"]) == 3
    assert all(not one.associate_public_ip for one in computer.instances().values())
    computer.change("cluster.yaml", ("nat_gateways: each-az", "nat_gateways: one"))
    computer.must("up", "--yes")
    assert len(computer.kept()["eu-central-1"]["NAT gateways"]) == 1
    assert len(computer.kept()["eu-central-1"]["Elastic IPs"]) == 1
    converged(computer, *names("sandbox"))
    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_an_existing_vpc_is_used_as_it_is(computers: Computers) -> None:
    computer = computers()
    ec2 = computer.client("ec2")
    vpc = ec2.create_vpc(CidrBlock=computer.network)["Vpc"]["VpcId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    prefix = computer.network.removesuffix("0/24")
    zones = {f"eu-central-1{letter}": f"{prefix}{16 * number}/28" for number, letter in enumerate("abc")}
    made = {
        zone: ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for zone, cidr in zones.items()
    }
    for one in made.values():
        ec2.modify_subnet_attribute(SubnetId=one, MapPublicIpOnLaunch={"Value": True})
    computer.before = computer.kept()
    subnets = "".join(f"    {zone}: {{id: {made[zone]}, cidr: {cidr}}}\n" for zone, cidr in zones.items())
    text = f"  vpc_id: {vpc}\n  subnets:\n{subnets}  domain: sandbox"
    computer.change("cluster.yaml", ("  domain: sandbox", text))
    said = computer.must("plan", code=2)
    assert "create vpc" not in said and "create subnet" not in said and "create route-table" not in said
    computer.must("up", "--yes")
    assert sorted(computer.instances()) == ["cp-1", "w-1"] and computer.steps() == []
    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_configs_by_the_talos_api(computers: Computers) -> None:
    """Without user data, nodes wait in maintenance mode."""
    computer = computers()
    computer.change("cluster.yaml", ("  domain: sandbox", "  seed: false\n  domain: sandbox"))
    computer.must("up", "--yes", "--trust-first-use")
    converged(computer, *names("sandbox"))
    assert not any(boot.configured for boot in computer.guests.boots)
    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_another_zone(computers: Computers) -> None:
    """A subnet more, and the load balancer in it. A node whose derived zone would change stays if it is set."""
    computer = computers()
    three, two = "[eu-central-1a, eu-central-1b, eu-central-1c]", "[eu-central-1a, eu-central-1b]"
    computer.change("../base/cluster.yaml", (three, two))
    computer.change("cluster.yaml", ("workers:\n  count: 1", "workers:\n  count: 3"))
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1", "w-2", "w-3"])
    computer.change("../base/cluster.yaml", (two, three))
    said = computer.must("plan", code=6)
    assert "w-3" in said and "az: eu-central-1a → eu-central-1c" in said and "w-2: machine cannot" not in said, said
    computer.append("cluster.yaml", "  overrides: {w-3: {az: eu-central-1a}}\n")
    said = computer.must("plan", code=2)
    assert "create subnet eu-central-1c" in said and "update load-balancer api" in said and "machine" not in said, (
        said
    )
    computer.must("up", "--yes")
    converged(computer, ["cp-1"], ["w-1", "w-2", "w-3"])
    computer.must("destroy", "--confirm", "talos-sandbox")
    computer.assert_clean()
