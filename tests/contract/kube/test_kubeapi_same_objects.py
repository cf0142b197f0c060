"""The same objects of many kinds, made in both worlds: defaults, names of owners, refusals, all the same.

They are made on trial, so that no controller has a say, and compared whole but for what is different every time.
"""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith_lab.kube.kinds import Kind
from tests.contract.kube.kube_world import Answer, KubeWorld, Obj
from tests.contract.kube.test_kubeapi_tables_real import OBJECTS, kind_of, timed

pytestmark = pytest.mark.slow

# More kinds, and more in them, than tables show.
MORE: dict[str, list[Obj]] = yaml.safe_load(Path(__file__).with_name("more_objects.yaml").read_text(encoding="utf-8"))
# Volumes wait for who uses them, which in the lab nobody does.
PROTECTION = tuple(f"kubernetes.io/{what}-protection" for what in ("pv", "pvc", "vac"))
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


def passing(answer: Answer) -> Any:
    """Without ids, times, versions and addresses that were given out."""

    def cleaned(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            found = {name: cleaned(inner, name) for name, inner in value.items() if name != "resourceVersion"}
            return {name: inner for name, inner in found.items() if (name, inner) != ("finalizers", [])}
        if isinstance(value, list):
            return [cleaned(inner, key) for inner in value if inner not in PROTECTION]
        if key in ("clusterIP", "clusterIPs") and str(value).startswith("10."):
            return "<address>"
        if key in ("nodePort", "healthCheckNodePort"):
            return "<port>"
        if key in ("time", "creationTimestamp", "lastPhaseTransitionTime", "lastTransitionTime"):
            return "<time>"
        return UUID.sub("<uid>", value) if isinstance(value, str) else value

    return answer.code, cleaned(answer.body), answer.warnings


def path_of(kind: Kind, space: str) -> str:
    base = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
    return f"{base}/namespaces/{space}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"


@pytest.fixture
def both(lab_world: KubeWorld, real_world: KubeWorld, unique: str) -> tuple[KubeWorld, KubeWorld]:
    for world in (lab_world, real_world):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}}
        world.create("/api/v1/namespaces", namespace).ok()
    return lab_world, real_world


def whole(kind: Kind, given: Obj, space: str) -> Obj:
    made: Obj = timed({**given, "apiVersion": kind.api_version, "kind": kind.kind}, 1_790_000_000.0)
    made.pop("delete", None)
    if kind.kind == "Event":
        made["involvedObject"]["namespace"] = space
    if kind.kind == "Pod" or "template" in made.get("spec", {}):
        # Accounts are given to pods only where somebody makes accounts.
        spec = made["spec"] if kind.kind == "Pod" else made["spec"]["template"].get("spec", {})
        spec.setdefault("serviceAccountName", "none")
    return made


KINDS = [*OBJECTS, *(name for name in MORE if name not in OBJECTS)]


def differences(both: tuple[KubeWorld, KubeWorld], space: str, plural: str, *, apply: bool) -> list[str]:
    kind, found = kind_of(plural), []
    for given in [*OBJECTS.get(plural, []), *MORE.get(plural, [])]:
        made, path, name = whole(kind, given, space), path_of(kind, space), given["metadata"]["name"]
        if apply and name == "bad-quantity":
            continue  # refused in both worlds, but here in other words
        if apply:
            told = [passing(world.apply(f"{path}/{name}", made, "first", dryRun="All")) for world in both]
        else:
            told = [passing(world.create(path, made, dryRun="All")) for world in both]
        lab, real = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in told)
        if lab != real:
            found.append("\n".join([name, *difflib.unified_diff(real, lab, "real", "lab", n=2, lineterm="")]))
    return found


@pytest.mark.parametrize("plural", KINDS)
def test_new_objects(both: tuple[KubeWorld, KubeWorld], unique: str, plural: str) -> None:
    found = differences(both, unique, plural, apply=False)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("plural", KINDS)
def test_applied_objects(both: tuple[KubeWorld, KubeWorld], unique: str, plural: str) -> None:
    found = differences(both, unique, plural, apply=True)
    assert not found, "\n" + "\n".join(found)
