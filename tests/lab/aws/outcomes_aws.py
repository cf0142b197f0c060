"""What must be so at the end, however runs got there: in AWS, in the lab behind it, and in the next plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.lab.aws.sites import Computer
from tests.lab.up.outcomes import one_etcd


def converged(
    computer: Computer, controlplanes: Iterable[str], workers: Iterable[str] = (), *, bootstraps: int = 1
) -> None:
    """One instance for each node, which runs; one VPC; one etcd; control planes as targets; no step left."""
    leading = sorted(controlplanes)
    wanted = sorted([*leading, *workers])
    instances = computer.instances()
    assert sorted(instances) == wanted
    assert all(one.state == "running" for one in instances.values())
    machines = computer.machines()
    assert sorted(machines) == wanted
    assert all(machine["ready"] for machine in machines.values()), machines
    assert computer.done("Bootstrap") == bootstraps
    one_etcd(computer, leading)
    kinds = Counter(kind for where, kind, _ in computer.new() if where != "global")
    assert kinds["vpcs"] == kinds["internet gateways"] == kinds["load balancers"] == 1, kinds
    assert registered(computer) == sorted(instances[name].id for name in leading)
    assert computer.steps() == []
    assert computer.guests.problems == []


def registered(computer: Computer) -> list[str]:
    """Ids of the instances behind the load balancer, by its port 6443."""
    elb = computer.client("elbv2")
    found = []
    for group in elb.describe_target_groups()["TargetGroups"]:
        if group["Port"] == 6443:
            health = elb.describe_target_health(TargetGroupArn=group["TargetGroupArn"])
            found += [one["Target"]["Id"] for one in health["TargetHealthDescriptions"]]
    return sorted(found)
