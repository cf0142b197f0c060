"""Several who want the same VMIDs: two computers with one inventory, and two clusters that do not know each other.

Of two computers neither makes a VM twice, and both come to the end of their one run. Of two clusters the second never
touches what the first has, and reports whose the VM is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged, destroyed
from tests.lab.proxmox.sites import ISO, Computer
from tests.lab.up.places import UP

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

JSON = (*UP, "-o", "json")
Computers = Callable[..., Computer]

# What the first run reports when the second one begins.
MEETINGS = {
    "simultaneous": "",
    "creating": '"step": "machine/',
    "created": '"type": "step-done"',
}


def met(text: str, out: str) -> bool:
    return not text or any(text in line for line in out.splitlines() if '"type": "run-started"' not in line)


@pytest.mark.parametrize("meeting", MEETINGS)
@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory"])
def test_two_computers_bring_one_cluster_up(computers: Computers, example: str, meeting: str) -> None:
    first = computers(example)
    first.boots_from(ISO if example == "proxmox" else "talos.raw")
    first.site.world.pace.scale = 0.15  # so that tasks of one run are met by the other
    second = computers(example, at=first.site)
    for file in first.folder.glob("*.yaml"):
        shutil.copy(file, second.folder)
    with first.start(*JSON) as one:
        one.until(lambda: met(MEETINGS[meeting], one.out))
        with second.start(*JSON) as other:
            late = other.wait()
        early = one.wait()
    assert early.code == 0, early.said
    assert late.code == 0, late.said
    converged(first)
    assert second.steps() == []
    first.must(*first.destroying)
    destroyed(second)


def test_two_clusters_that_want_the_same_vmids(computers: Computers) -> None:
    """Both examples give out 2000 and 3000."""
    first = computers("proxmox")
    first.boots_from(ISO)
    second = computers("proxmox-inventory", at=first.site)
    second.boots_from("talos.raw")
    second.make_secrets()
    first.must(*UP)
    before = first.site.kept()
    for command in (("doctor",), UP):
        said = second.must(*command, code=1)
        assert "VMID 2000 of dev-cp-1 is taken" in said and "VMID 3000 of dev-wk-1 is taken" in said, said
        assert "talos-cp-01 on hydra, node talos-cp-01 of the cluster talos" in said, said
    second.must(*second.destroying)
    assert first.site.kept() == before
    converged(first)

    # With VMIDs of its own it comes up beside the other, and goes without it.
    second.change(
        "cluster.yaml", ("  boot: template", "  vmid_base: {controlplane: 2100, workers: 3100}\n  boot: template")
    )
    second.must(*UP)
    assert sorted(first.site.ours()) == sorted([*first.names, *second.names])
    second.must(*second.destroying)
    assert first.site.kept() == before
    first.must(*first.destroying)
    destroyed(first)


def test_two_clusters_that_race_for_the_same_vmids(computers: Computers) -> None:
    """Of the workers, for a worker without a control plane is waited for. Each VM becomes the machine of one cluster,
    whichever comes first; the other reports whose it is."""
    first = computers("proxmox")
    first.boots_from(ISO)
    site = first.site
    site.world.pace.scale = 0.15
    second = computers("proxmox", at=site)
    second.boots_from(ISO)
    second.change("cluster.yaml", ("cluster_name: talos", "cluster_name: other"), ("plane: 2000", "plane: 2100"))
    second.change("nodes.yaml", ("talos-cp-01", "other-cp-01"), ("talos-w-0", "other-w-0"))
    second.change("nodes.yaml", (first.network.replace(".0/24", ".10"), first.network.replace(".0/24", ".11")))
    second.make_secrets()
    with first.start(*UP) as one, second.start(*UP) as other:
        ended = {"talos": one.wait(), "other": other.wait()}
    site.settle()
    names = {vm.vmid: vm.name for vm in site.ours().values()}
    assert sorted(names) == [2000, 2100, 3000, 3001], names
    for cluster, end in ended.items():
        lost = [vmid for vmid in (3000, 3001) if not names[vmid].startswith(cluster)]
        assert end.code == (1 if lost else 0), end.said
        assert all(f"VMID {vmid} of {cluster}" in end.said for vmid in lost), end.said
    second.must("destroy", "--yes", "--confirm", "other")
    kept = {vm.vmid: vm.name for vm in site.ours().values()}
    assert kept == {vmid: name for vmid, name in names.items() if name.startswith("talos")}
    first.must(*UP)
    converged(first, made_once=False, bootstraps=2)
    first.must(*first.destroying)
    destroyed(first)
