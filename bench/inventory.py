"""Loading, checking and resolving an inventory of 10,000 nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Result, python


def write(folder: Path, count: int) -> None:
    """Nodes as a list, each with five values of its own: what a large inventory looks like."""
    folder.mkdir()
    (folder / "cluster.yaml").write_text(
        "cluster_name: large\ntalos_version: v1.14.1\nkubernetes_version: v1.37.1\n"
        "network: {node_cidr: 10.64.0.0/14, vip: 10.64.0.9, pod_cidr: 10.128.0.0/9}\n"
        "proxmox: {node: pve, vmid_base: {controlplane: 2000, workers: 30000}}\ncontrolplane: 3\n"
    )
    sizes = "    cpu: 4\n    ram: 8192\n    disk: 60G\n"
    workers = (
        f"  - name: worker-{number}\n    ip: 10.65.{number >> 8}.{number & 255}\n{sizes}"
        for number in range(1, count - 2)
    )
    (folder / "nodes.yaml").write_text("workers:\n" + "".join(workers))


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        cost = {}
        for count in (1_000, 10_000):
            folder = Path(scratch) / str(count)
            write(folder, count)
            code = f"from talosmith import load; assert len(load({str(folder)!r}).nodes) == {count}"
            cost[count] = python(code)
    idle = python("import talosmith.inventory")
    yield Result("10,000 nodes loaded, checked, resolved: CPU s", "", cost[10_000].cpu, 1.5)
    yield Result("10,000 nodes loaded, checked, resolved: MiB", "", cost[10_000].mib, 200)
    growth = (cost[10_000].cpu - idle.cpu) / (cost[1_000].cpu - idle.cpu)
    figures = f"{cost[10_000].cpu:.2f} s against {cost[1_000].cpu:.2f} s, of which {idle.cpu:.2f} s are start-up"
    yield Result("cpu(10,000) / cpu(1,000), start-up taken off", figures, growth, 12)
