"""A node made anew: `destroy --node` takes it out of a cluster that goes on, and `up` makes it again."""

from __future__ import annotations

import pytest

from tests.lab.up.killing import BY_GROUP, Places, at_every_event, killed_twice
from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import DESTROY, Here

pytestmark = pytest.mark.slow

ONE = (*DESTROY, "--node", "cp-2")


def test_a_control_plane_is_taken_out_and_made_anew(here: Here) -> None:
    here.write(3, 1)
    assert here.up().code == 0
    ended = here.run(*ONE)
    assert ended.code == 0, ended.said
    assert "2 of 2 members stay healthy" in ended.said and "`talosmith up` creates it again" in ended.said
    assert sorted(here.machines()) == ["cp-1", "cp-3", "w-1"]
    one_etcd(here, ["cp-1", "cp-3"])
    assert here.up().code == 0
    one_etcd(here, ["cp-1", "cp-2", "cp-3"])
    assert here.steps() == [] and here.done("Bootstrap") == 1


@BY_GROUP
def test_killed_here_and_there(places: Places, group: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        here.write(3, 0)
        assert here.up().code == 0
        killed = killed_twice(here, *ONE, number=number)
        again = here.run(*ONE)
        assert again.code == 0, (number, again.said)
        assert sorted(here.machines()) == ["cp-1", "cp-3"]
        one_etcd(here, ["cp-1", "cp-3"])
        return killed

    assert at_every_event(places, group, scenario, every=2) >= 1
