"""The templates that DaemonSets and StatefulSets have had, kept so that one can go back to them."""

from __future__ import annotations

from talosmith_lab.kube.controllers.objects import REVISION, hashed, labels_of, reference
from talosmith_lab.kube.controllers.work import MANAGER, Work
from talosmith_lab.kube.kinds import Kind, Obj

HASH = "controller-revision-hash"


def all_of(work: Work, owner: Obj) -> list[Obj]:
    """Oldest first."""
    found = work.index.dependents.get(owner["metadata"]["uid"], {})
    storage = work.api.kubernetes.storage
    kept = [stored.obj for key, kind in found.items() if kind.root == REVISION.root and (stored := storage.get(key))]
    return sorted(kept, key=lambda one: int(one["revision"]))


def current(work: Work, kind: Kind, owner: Obj) -> str:
    """The hash of the present template; its revision is made, or becomes the newest again."""
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    known = all_of(work, owner)
    found = next((one for one in known if one["data"] == data), None)
    newest = int(known[-1]["revision"]) if known else 0
    if found is not None:
        if int(found["revision"]) < newest:
            work.put(REVISION, {**found, "revision": newest + 1})
        return str(labels_of(found)[HASH])
    short = hashed(owner["spec"]["template"])
    name = owner["metadata"]["name"]
    made = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{name}-{short}",
            "labels": {**labels_of(owner["spec"]["template"]), HASH: short},
            "ownerReferences": [reference(kind, owner)],
        },
        "data": data,
        "revision": newest + 1,
    }
    work.api.create(REVISION, made, owner["metadata"]["namespace"], how=MANAGER)
    for old in known[: max(0, len(known) - int(owner["spec"].get("revisionHistoryLimit", 10)))]:
        work.api.delete(REVISION, old["metadata"]["name"], old["metadata"]["namespace"], how=MANAGER)
    return short
