"""What a person does: five machines become a cluster, its leader dies, the rest carries on. By `talosctl` alone."""

from __future__ import annotations

import json
import os
import re
import signal

from tests.real.lab.lab_cluster import LabCluster


def test_from_power_on_to_a_cluster_that_survives_its_leader(machines: LabCluster) -> None:
    lab = machines
    assert all(one["stage"] == "maintenance" and one["fingerprint"] for one in lab.machines())
    assert "Disk" in lab.done("get", "disks", "--insecure", "-n", "<cp-1>")
    pinned = next(one["fingerprint"] for one in lab.machines() if one["name"] == "cp-1")
    assert lab.ctl("get", "links", "--insecure", "-n", "<cp-1>").code == 0
    wrong = lab.ctl(
        "apply-config", "--insecure", "-n", "<cp-1>", "-f", "cp-1.yaml", "--cert-fingerprint", "A" * 43 + "="
    )
    assert wrong.code != 0 and lab.machines()[0]["stage"] == "maintenance"
    lab.done("apply-config", "--insecure", "-n", "<cp-1>", "-f", "cp-1.yaml", "--cert-fingerprint", pinned)
    for name in ("cp-2", "cp-3", "w-1", "w-2"):
        lab.done("apply-config", "--insecure", "-n", f"<{name}>", "-f", f"{name}.yaml")

    lab.wait("etcd to wait", lambda: "Preparing" in lab.ctl("service", "etcd").out)
    assert re.search(r"booting +false", lab.done("get", "machinestatus"))
    assert lab.ctl("version", "-e", "<vip>", "-n", "<vip>").code != 0, "there is no virtual address without etcd"
    lab.done("bootstrap")
    lab.wait("everybody", lab.is_well)
    listed = lab.done("etcd", "members")
    assert all(re.search(rf"{name} +https://.*false", listed) for name in ("cp-1", "cp-2", "cp-3"))
    found = lab.done("get", "members", "-o", "json")
    assert found.count('"machineType": "worker"') == 2 and found.count('"machineType": "controlplane"') == 3
    assert "nodes to report ready: OK" in lab.ctl("health", "--wait-timeout", "3m").all

    leader = lab.leader()
    lab.lab("machine", "power-off", leader)
    others = [name for name in ("cp-1", "cp-2", "cp-3") if name != leader]
    nodes = ",".join(f"<{name}>" for name in others)
    asked = ("-e", nodes, "-n", f"<{others[0]}>")
    lab.wait("a new leader", lambda: lab.leader() in others)
    seen = set(re.findall(r"%\) +([0-9a-f]{16})", lab.done("etcd", "status", "-e", nodes, "-n", nodes)))
    assert len(seen) == 1 and "0" * 16 not in seen, "both follow the same one"
    assert len(re.findall("https://.*:2380", lab.done("etcd", "members", *asked))) == 3, "a dead member is one still"
    lab.wait("the virtual address", lambda: lab.ctl("version", "-e", "<vip>", "-n", "<vip>").code == 0)
    lab.wait("it to be ready", lambda: re.search(r"running +true", lab.done("get", "machinestatus", *asked)))

    lab.lab("machine", "power-off", others[1])
    lab.wait("the leader to step down", lambda: lab.leader() == "")
    alone = ("-e", f"<{others[0]}>", "-n", f"<{others[0]}>")
    status = lab.done("etcd", "status", *alone)
    assert "0000000000000000" in status and "no leader" in status
    assert lab.ctl("etcd", "members", *alone).code != 0
    lab.wait("nobody to have the address", lambda: lab.status()["virtual_addresses"] == {})

    def unready() -> bool:
        told = json.loads(lab.done("get", "machinestatus", "-o", "json", *alone))
        return "etcd not healthy" in json.dumps(told["spec"])

    lab.wait("it to say why it is not ready", unready)

    lab.lab("machine", "power-on", leader, others[1])
    lab.wait("everybody", lab.is_well)
    assert re.search(r"running +true", lab.done("get", "machinestatus", "-n", f"<{leader}>"))


def test_killed_and_started_again_it_is_the_same(machines: LabCluster) -> None:
    """Whatever the machines were doing, with the real command and a real kill."""
    lab = machines
    lab.wait("rest", lambda: lab.is_well() or {one["stage"] for one in lab.machines()} == {"maintenance"})
    before = lab.machines()
    running = json.loads((lab.folder / "state/talosmith/labs" / lab.name / "lab.json").read_text(encoding="utf-8"))
    os.kill(running["pid"], signal.SIGKILL)
    lab.wait("the end", lambda: "stopped" in lab.lab("status", lab.name).out)
    lab.lab("start", lab.name)
    after = lab.machines()
    for old, new in zip(before, after, strict=True):
        assert {**new, "unmet": 0} == {**old, "unmet": 0}
    assert lab.ctl("version", "-n", "<w-1>").code == 0 or lab.ctl("version", "--insecure", "-n", "<w-1>").code == 0
