"""What must be so at the end, however a run got there."""

from __future__ import annotations

from collections.abc import Iterable

from tests.lab.up.places import Here


def converged(here: Here, names: Iterable[str], *, created: int = 1, bootstraps: int = 1) -> None:
    """Exactly these machines, each made once; one etcd, started once; nothing left to do; healthy."""
    wanted = sorted(names)
    machines = here.machines()
    assert sorted(machines) == wanted
    assert all(machine["ready"] for machine in machines.values()), machines
    calls = here.calls()
    made = {name: calls[f"{name} machine.create"]["done"] for name in wanted}
    assert made == dict.fromkeys(wanted, created)
    assert here.done("Bootstrap") == bootstraps
    one_etcd(here, [name for name in wanted if name.startswith("cp-")])
    assert here.steps() == []
    health = here.run("health")
    assert health.code == 0, health.said


def one_etcd(here: Here, members: Iterable[str]) -> None:
    (cluster,) = here.etcd()
    assert cluster["members"] == dict.fromkeys(members, "voter")
    assert cluster["size"] == len(cluster["members"]), "a member is there twice"
    assert cluster["quorum"]
