"""`kill -9` at every event of `up` and of `destroy`; then the same command again, until it comes to its end.

Each scenario has two kills: the first run dies at the event, before the journal has heard of it, and the run that
goes on from there dies at some event after all have heard of it. The third must finish.
"""

from __future__ import annotations

import pytest

from tests.lab.up.killing import BY_GROUP, Places, at_every_event, killed_twice
from tests.lab.up.outcomes import converged, one_etcd
from tests.lab.up.places import DESTROY, UP, Here

pytestmark = pytest.mark.slow


@BY_GROUP
def test_up_killed_at_every_event_is_finished_by_running_it_again(places: Places, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        here.write(1, 1)
        killed = killed_twice(here, *UP, number=number)
        again = here.up()
        assert again.code == 0, (number, again.said)
        converged(here, ["cp-1", "w-1"])
        return killed

    assert at_every_event(places, group, scenario) >= 4


@BY_GROUP
def test_up_of_three_control_planes_killed_here_and_there(places: Places, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        here.write(3, 1)
        killed = killed_twice(here, *UP, number=number)
        again = here.up()
        assert again.code == 0, (number, again.said)
        converged(here, ["cp-1", "cp-2", "cp-3", "w-1"])
        return killed

    assert at_every_event(places, group, scenario, every=5) >= 1


@BY_GROUP
def test_a_change_killed_here_and_there(places: Places, group: int) -> None:
    """One control plane's machine is gone and made again, another leaves, a worker comes."""
    change = (*UP, "--confirm", "mine")

    def scenario(here: Here, number: int) -> bool:
        here.write(3, 1)
        assert here.up().code == 0
        here.lab.delete("cp-1")
        here.write(2, 2)
        killed = killed_twice(here, *change, number=number)
        again = here.run(*change)
        assert again.code == 0, (number, again.said)
        assert here.steps() == []
        assert sorted(here.machines()) == ["cp-1", "cp-2", "w-1", "w-2"]
        made = {key.partition(" ")[0]: one["done"] for key, one in here.calls().items() if "machine.create" in key}
        assert made == {"cp-1": 2, "cp-2": 1, "cp-3": 1, "w-1": 1, "w-2": 1}
        assert here.done("Bootstrap") == 1
        one_etcd(here, ["cp-1", "cp-2"])
        return killed

    assert at_every_event(places, group, scenario, every=3) >= 2


@BY_GROUP
def test_destroy_killed_at_every_event_leaves_nothing_of_ours_and_all_else(places: Places, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        here.write(1, 1)
        assert here.up().code == 0
        stranger = here.lab.create_machine("stranger", address=here.network.replace(".0/24", ".99"))
        secrets = (here.folder / "secrets.sops.yaml").read_bytes()
        killed = killed_twice(here, *DESTROY, number=number)
        again = here.destroy()
        assert again.code == 0, (number, again.said)
        left = here.machines()
        assert list(left) == ["stranger"] and left["stranger"]["uuid"] == stranger["uuid"]
        assert (here.folder / "secrets.sops.yaml").read_bytes() == secrets
        assert here.destroy().code == 0
        return killed

    at_every_event(places, group, scenario)
