"""What must be so at the end, however runs got there: in Proxmox VE, in the lab behind it, and in the next plan."""

from __future__ import annotations

from collections.abc import Iterable

from tests.lab.proxmox.sites import Computer
from tests.lab.up.outcomes import one_etcd


def converged(computer: Computer, names: Iterable[str] = (), *, made_once: bool = True, bootstraps: int = 1) -> None:
    """One VM for each node, which runs and holds no seed; one etcd; nothing left to do.

    `made_once`: no VM was ever made with a VMID that had one before; it may be so after a task that failed.
    `bootstraps`: of all clusters that the site has seen.
    """
    wanted, site = sorted(names or computer.names), computer.site
    vms = site.ours()
    assert sorted(vms) == wanted
    assert all(vm.status == "running" and not vm.lock for vm in vms.values()), vms
    assert site.new_volumes("-seed-") == []
    machines = computer.machines()
    assert sorted(machines) == wanted
    assert all(machine["ready"] for machine in machines.values()), machines
    assert computer.done("Bootstrap") == bootstraps
    one_etcd(computer, computer.controlplanes)
    assert computer.steps() == []
    assert site.guests.problems == []
    if made_once:
        assert len(set(site.made)) == len(site.made), site.made


def destroyed(computer: Computer) -> None:
    """`destroy` once more finds nothing; all that others have is as it was."""
    computer.must(*computer.destroying)
    computer.site.assert_clean()
