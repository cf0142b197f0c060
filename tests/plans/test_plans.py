"""Plans: each file is an inventory, a world, and what has to be done about it."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.operations import destroy, up
from talosmith.operations.operation import Facts, FormerCluster
from talosmith.plan.builder import Selection
from talosmith.plan.step import SEVERITY, Plan
from talosmith.providers.base import Capabilities
from tests.plans.addon_worlds import with_addons
from tests.plans.plan_worlds import bundle, desired, observed

HERE = Path(__file__).parent
CASES = sorted(path.relative_to(HERE).as_posix() for path in HERE.glob("*/*.yaml"))
KNOWN = {
    "inventory", "observed", "etcd", "api", "options", "capabilities", "expect", "disruption", "needs", "blocked",
    "confirm", "notes", "drift", "reasons", "effects", "resources", "settings", "addons",
}  # fmt: skip


def plan_of(case: dict[str, Any], operation: str) -> Plan:
    wanted = desired(case.get("inventory", {}))
    about = {name: case.get(name) for name in ("api", "resources")}
    world = observed(wanted, case.get("observed", {}), etcd=case.get("etcd", {}), **about)
    wanted, world = with_addons(wanted, world, copy.deepcopy(case.get("addons")))
    options = {
        key: tuple(value) if key in ("take_over", "prune") else value
        for key, value in case.get("options", {}).items()
    }
    selection = Selection(**{key: tuple(options.pop(key)) for key in ("only", "skip", "targets") if key in options})
    known = {name: tuple(options.pop(name, ())) for name in ("missing_files", "own_files")}
    former = [
        {name: tuple(v) if isinstance(v, list) else v for name, v in one.items()} for one in options.pop("former", ())
    ]
    facts = Facts(
        capabilities=Capabilities(**case.get("capabilities", {})),
        former=tuple(FormerCluster(**one) for one in former),
        **known,
    )
    if operation == "destroy":
        return destroy.build(wanted, world, destroy.DestroyOptions(selection=selection, **options), facts)
    return up.build(wanted, world, up.UpOptions(selection=selection, **options), facts)


@pytest.mark.parametrize("name", CASES)
def test_plan(name: str) -> None:
    case = yaml.safe_load((HERE / name).read_text())
    assert not case.keys() - KNOWN
    plan = plan_of(case, name.partition("/")[0])
    assert {step.key for step in plan} == set(case["expect"])
    assert max((step.disruption for step in plan), key=lambda one: SEVERITY[one], default="none") == case.get(
        "disruption", "none"
    )
    for key, needs in case.get("needs", {}).items():
        assert set(needs) <= reached(plan, key), f"{key} does not wait for all of {needs}"
    for field in ("blocked", "confirm", "notes"):
        _said([str(one) for one in getattr(plan, field)], case.get(field, []), field)
    if "drift" in case:
        assert [f"{one.node} {one.kind}: {one.live} → {one.wanted}" for one in plan.drift] == case["drift"]
    for key, text in case.get("reasons", {}).items():
        assert re.search(text, plan.step(key).reason), plan.step(key).reason
    for key, text in case.get("effects", {}).items():
        assert re.search(text, plan.step(key).effect), plan.step(key).effect
    for key, changes in case.get("settings", {}).items():
        assert [str(one) for one in plan.step(key).action.settings] == changes
    _in_order(plan)


HOST_CALLS = {f"machine:{what}": (f"host:{what}",) for what in ("create", "resize", "forget-seed", "destroy")}


@pytest.mark.parametrize("name", CASES)
def test_what_the_provider_does_on_its_host_is_shown_by_the_steps_that_do_it(name: str) -> None:
    case, operation = yaml.safe_load((HERE / name).read_text()), name.partition("/")[0]
    given = {"host_calls": {call.partition(":")[2]: made for call, made in HOST_CALLS.items()}}
    plan = plan_of({**case, "capabilities": {**case.get("capabilities", {}), **given}}, operation)
    for step in plan:
        shown = step.action.calls()
        wanted = [made for call in shown for made in HOST_CALLS.get(call, ())]
        assert [call for call in shown if call.startswith("host:")] == wanted, step.key


def reached(plan: Plan, key: str) -> set[str]:
    """All that has to be done before a step."""
    found: set[str] = set()
    todo = [key]
    while todo:
        for need in plan.step(todo.pop()).needs:
            if need not in found:
                found.add(need)
                todo.append(need)
    return found


def _said(texts: list[str], expected: list[str], field: str) -> None:
    assert len(texts) == len(expected), f"{field}: {texts}"
    for text, pattern in zip(texts, expected, strict=True):
        assert re.search(pattern, text), f"{field}: {text}"


def _in_order(plan: Plan) -> None:
    done: set[str] = set()
    for step in plan:
        assert set(step.needs) <= done
        done.add(step.key)


def test_every_case_has_a_world_of_its_own() -> None:
    told = [(name.partition("/")[0], (HERE / name).read_text()) for name in CASES]
    assert len(set(told)) == len(told) >= 60


DIGESTS = """
import json, sys
import yaml
from talosmith.desired.bundle import Bundle
from tests.plans import plan_worlds
given = Bundle.from_mapping(json.load(sys.stdin))
plan_worlds.bundle = lambda: given
from tests.plans.test_plans import CASES, HERE, plan_of
for name in CASES:
    print(name, plan_of(yaml.safe_load((HERE / name).read_text()), name.partition("/")[0]).digest)
"""


@pytest.mark.slow
def test_plans_are_the_same_in_every_process() -> None:
    """A saved plan is known by its digest to another process, in which sets have another order."""
    told = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            input=json.dumps(bundle().to_mapping()),
            cwd=HERE.parents[1],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(told[0].splitlines()) == len(CASES)
    assert told[0] == told[1]
