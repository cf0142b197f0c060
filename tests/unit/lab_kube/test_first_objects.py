"""The list of first objects is what the lab itself would make of them, so that it need not do so at each start."""

from __future__ import annotations

from talosmith_lab.kube.bootstrap import THEN, first_objects
from talosmith_lab.kube.kinds import Obj
from tools.kube_first_objects import PATHS, made


def test_they_are_as_they_would_be_made() -> None:
    objects = first_objects(THEN)
    found: dict[str, list[Obj]] = {path: [] for path in PATHS}
    for obj in objects:
        found[next(path for path, kind in PATHS.items() if kind == obj["kind"])].append(obj)
    assert all(found.values())
    assert made(found) == objects


def test_they_are_made_now() -> None:
    now = "2026-01-02T03:04:05Z"
    metadata = first_objects(now)[0]["metadata"]
    assert metadata["creationTimestamp"] == metadata["managedFields"][0]["time"] == now
