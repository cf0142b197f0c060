"""The first objects of a lab's Kubernetes are those of the real API server."""

from __future__ import annotations

import pytest

from talosmith.kube import KubeClient
from talosmith_lab.kube.bootstrap import THEN, first_objects
from talosmith_lab.kube.kinds import Obj
from tools.kube_first_objects import PATHS, made

pytestmark = pytest.mark.slow


def named(obj: Obj) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


async def test_the_list_of_them_is_current(client: KubeClient) -> None:
    """Others have made objects there too; what the server made by itself has a mark, or is known."""
    ours = {named(obj): obj for obj in first_objects(THEN)}
    found = {path: (await client.caller.ask("GET", path)).item["items"] for path in PATHS}
    for path, kind in PATHS.items():
        found[path] = [one for one in found[path] if named({**one, "kind": kind}) in ours or _marked(one)]
    theirs = {named(obj): obj for obj in made(found)}
    assert theirs.keys() == ours.keys()
    assert theirs == ours


def _marked(obj: Obj) -> bool:
    return "kubernetes.io/bootstrapping" in (obj["metadata"].get("labels") or {})
