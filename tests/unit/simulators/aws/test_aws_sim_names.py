"""Names of the simulated Route 53 are resolved in a process, and load balancers forward to what listens."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.loopback import free_network
from tests.simulators.aws.balancer import Forwarder
from tests.simulators.aws_names import resolve
from tests.unit.simulators.aws.aws_clients import Aws

pytestmark = pytest.mark.slow  # moto takes seconds to import


@contextmanager
def _echo(address: str, port: int, word: bytes) -> Iterator[None]:
    """Answers each connection with a word."""
    with socket.create_server((address, port)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with closing(connection):
                    connection.sendall(word)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _read(address: str, port: int) -> bytes:
    with socket.create_connection((address, port), timeout=5) as connection:
        try:
            return connection.recv(100)
        except ConnectionError:
            return b""


@pytest.fixture
def network() -> str:
    return free_network()


def test_given_names_are_resolved_and_no_others() -> None:
    undo = resolve({"k8s.dev.example.org": "127.9.9.9", "*.elb.eu-central-1.amazonaws.com": "127.9.9.8"})
    try:
        assert socket.getaddrinfo("k8s.dev.example.org", 6443)[0][4] == ("127.9.9.9", 6443)
        assert socket.getaddrinfo("api-1.elb.eu-central-1.amazonaws.com", 443)[0][4] == ("127.9.9.8", 443)
        assert socket.getaddrinfo("127.0.0.1", 80)[0][4] == ("127.0.0.1", 80)
        for host in ("example.org", "8.8.8.8"):
            with pytest.raises(socket.gaierror):
                socket.getaddrinfo(host, 443)
    finally:
        undo()


def test_names_are_resolved_without_moto() -> None:
    program = "import sys, tests.simulators.aws_names; sys.exit('moto' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_load_balancer_forwards_to_its_targets(aws: Aws, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.server.url)
    prefix = network.removesuffix("0/24")
    zone = aws.cloud.add_hosted_zone("example.org")
    with Forwarder(aws.cloud, network).running() as forwarder:
        vpc = aws.vpc(network)
        subnet, group = aws.subnet(vpc, f"{prefix}0/28"), aws.target_group(vpc)
        balancer = aws.balancer(subnet)
        (found,) = aws.elbv2.describe_load_balancers()["LoadBalancers"]
        alias = {"DNSName": found["DNSName"], "EvaluateTargetHealth": False}
        alias["HostedZoneId"] = found["CanonicalHostedZoneId"]
        record = {"Name": "k8s.dev.example.org", "Type": "A", "AliasTarget": alias}
        changes = {"Changes": [{"Action": "UPSERT", "ResourceRecordSet": record}]}
        aws.route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=changes)
        listener = aws.listener(balancer, group)
        assert forwarder.places == {(f"{prefix}250", 6443)}
        nodes = [aws.launch(subnet, PrivateIpAddress=f"{prefix}{host}") for host in (10, 11)]
        aws.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": node} for node in nodes])
        undo = resolve(zones=True)
        try:
            assert _read("k8s.dev.example.org", 6443) == b""
            with _echo(f"{prefix}10", 6443, b"first"), _echo(f"{prefix}11", 6443, b"second"):
                assert {_read("k8s.dev.example.org", 6443) for _ in range(4)} == {b"first", b"second"}
                aws.elbv2.deregister_targets(TargetGroupArn=group, Targets=[{"Id": nodes[0]}])
                assert {_read(found["DNSName"], 6443) for _ in range(4)} == {b"second"}
                aws.ec2.stop_instances(InstanceIds=[nodes[1]])
                assert _read("k8s.dev.example.org", 6443) == b""
            with pytest.raises(socket.gaierror):
                socket.getaddrinfo("other.example.org", 6443)
        finally:
            undo()
        aws.elbv2.delete_listener(ListenerArn=listener)
        with pytest.raises(ConnectionRefusedError):
            _read(f"{prefix}250", 6443)
        assert not forwarder.problems


def test_load_balancers_of_several_accounts_have_addresses_of_their_networks(aws: Aws) -> None:
    other = aws.other("222222222222")
    with Forwarder(aws.cloud, free_network()).running() as forwarder:
        wanted = set()
        for one in (aws, other):
            network = free_network()
            vpc = one.vpc(network)
            subnet = one.subnet(vpc, network.replace("/24", "/28"))
            one.listener(one.balancer(subnet), one.target_group(vpc))
            wanted.add((network.removesuffix("0/24") + "250", 6443))
        assert forwarder.places == wanted
        aws.cloud.balancer_address("set", "127.0.0.1")
        aws.balancer(aws.ec2.describe_subnets()["Subnets"][0]["SubnetId"], "set")
        (found,) = aws.elbv2.describe_load_balancers(Names=["set"])["LoadBalancers"]
        assert aws.cloud.resolve(found["DNSName"]) == "127.0.0.1"
