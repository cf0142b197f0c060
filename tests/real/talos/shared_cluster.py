"""Three control planes that all tests of a run share: the first that asks makes them, one at a time has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.real.talos.cluster import Cluster, TalosctlFailed
from tests.real.talos.lab import Lab, locked

SIZE = 3


@contextmanager
def borrow(lab: Lab) -> Iterator[Cluster]:
    """The cluster, whole. A test may do what it likes with it; what it leaves broken is made anew for the next."""
    folder = lab.folder / "shared"
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):
        names = folder / "nodes.json"
        known = tuple(lab.node(name) for name in json.loads(names.read_text())) if names.exists() else ()
        cluster = Cluster(lab, folder, known)
        if not known or not _whole(cluster):
            names.unlink(missing_ok=True)
            for node in known:
                node.remove()
            cluster = Cluster(lab, folder, tuple(lab.create() for _ in range(SIZE)))
            cluster.come_up()
            names.write_text(json.dumps([node.name for node in cluster.nodes]))
        yield cluster


def _whole(cluster: Cluster) -> bool:
    try:
        cluster.wait_for_stage("running", seconds=60)
        cluster.wait_for_members(SIZE, seconds=60)
    except (TalosctlFailed, TimeoutError):
        return False
    return True
