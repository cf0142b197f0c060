"""Plans of random inventories and worlds: always the same, never in a circle, never careless."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from talosmith.observed.world import EtcdSeen, Unknown
from talosmith.operations import destroy, up
from talosmith.operations.operation import Facts
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan, Step
from talosmith.providers.base import Capabilities
from tests.plans.plan_worlds import STATES, desired, observed
from tests.plans.test_plans import reached

CONFIGS: list[dict[str, Any]] = [
    {},
    {"machine.sysctls": {"vm.swappiness": "1"}},
    {"machine.env": {"A": "b"}},
    {"machine.network": {"nameservers": ["10.9.9.9"]}},
    {"machine.type": "init"},
]
states = st.one_of(
    st.sampled_from(STATES),
    st.fixed_dictionaries(
        {
            "is": st.sampled_from(["ready", "unready", "sick", "learning"]),
            "config": st.one_of(st.sampled_from(CONFIGS), st.just("unknown")),
            "pending_reboot": st.booleans(),
            "machine": st.fixed_dictionaries({"ram_mib": st.sampled_from([4096, 8192])}),
            "talos": st.sampled_from(["v1.13.9", "v1.13.8"]),
        }
    ),
)
names = [*(f"cp-{number}" for number in range(1, 7)), *(f"w-{number}" for number in range(1, 5))]
worlds = st.dictionaries(st.sampled_from(names), states)
sizes = st.tuples(st.sampled_from([1, 3, 5]), st.integers(0, 3))
etcds = st.fixed_dictionaries(
    {"still": st.lists(st.sampled_from(names[:6])), "alarms": st.sampled_from([[], ["nospace"]])}
)
apis = st.sampled_from([None, True, False])
places = ["network/main", "subnet/a", "image/talos", "balancer/api", "group/api", "network/old"]
resource_worlds = st.one_of(
    st.just("unknown"),
    st.dictionaries(
        st.sampled_from(places),
        st.sampled_from(["there", "there", "foreign", {"dns": False}, {"cidr": "10.9.9.0/24"}, {"used_by": ["b"]}]),
    ),
)


def facts(**can: bool) -> Facts:
    return Facts(capabilities=Capabilities(**can), missing_files=("talosconfig", "kubeconfig"))


def built(
    size: tuple[int, int], world: dict[str, Any], etcd: dict[str, Any], api: bool | None, resources: Any = None
) -> tuple[Plan, Any, Any]:
    wanted = desired({"controlplane": size[0], "workers": size[1]})
    seen = observed(wanted, world, etcd=etcd, api=api, resources=resources)
    return up.build(wanted, seen, up.UpOptions(), facts(resizes=True)), wanted, seen


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(sizes, worlds, etcds, apis)
def test_up(size: tuple[int, int], world: dict[str, Any], etcd: dict[str, Any], api: bool | None) -> None:
    plan, wanted, seen = built(size, world, etcd, api)
    assert plan.digest == built(size, world, etcd, api)[0].digest
    _in_the_order_of_needs(plan)
    _one_control_plane_at_a_time(plan, wanted)
    _nothing_is_destroyed_unseen(plan, seen)
    _one_bootstrap_at_most(plan, wanted, seen)
    _what_is_new_comes_before_what_goes(plan)


@settings(max_examples=60, deadline=None)
@given(sizes, worlds, resource_worlds)
def test_up_with_resources(size: tuple[int, int], world: dict[str, Any], resources: Any) -> None:
    """No machine is created before what it stands on, no group before its members; what needs nothing is not made."""
    plan, wanted, seen = built(size, world, {}, None, resources)
    assert plan.digest == built(size, world, {}, None, resources)[0].digest
    _in_the_order_of_needs(plan)
    keys = {step.key for step in plan}
    if resources == "unknown":
        assert plan.blocked and not [key for key in keys if key.startswith("resource/")]
        return
    for step in plan:
        if step.key.startswith("machine/") and step.key.count("/") == 1:
            made = {
                f"resource/{place}/{verb}" for place in ("subnet/a", "image/talos") for verb in ("create", "update")
            }
            assert made & keys <= reached(plan, step.key)
            assert "subnet/a" in resources or "resource/subnet/a/create" in keys
    assert "resource/image/talos/create" not in keys or any(node.machine is None for node in seen.nodes.values())
    members = {f"machine/{node.name}" for node in wanted.controlplanes} & keys
    assert "resource/group/api/create" not in keys or members <= reached(plan, "resource/group/api/create")
    assert not [key for key in keys if key.endswith("/delete") and key.split("/")[2] != "old"]


@settings(max_examples=60, deadline=None)
@given(sizes, worlds, resource_worlds)
def test_destroy_with_resources(size: tuple[int, int], world: dict[str, Any], resources: Any) -> None:
    """In the reverse order of needs; nothing of others, nothing that others use, nothing while it is not known."""
    wanted = desired({"controlplane": size[0], "workers": size[1]})
    seen = observed(wanted, world, etcd={}, api=None, resources=resources)
    plan = destroy.build(wanted, seen, destroy.DestroyOptions(), facts())
    deleted = {step.key: step.key.split("/")[1:3] for step in plan if step.key.startswith("resource/")}
    assert all(key.endswith("/delete") for key in deleted)
    if resources == "unknown":
        assert plan.blocked and not deleted
        return
    found = {tuple(one.key): one.found for one in seen.resources.each if one.found}
    destroys = {step.key for step in plan if step.key.startswith("machine/")}
    for key, parts in deleted.items():
        gone = found[tuple(parts)]
        assert wanted.owner.owns(gone.tags) and not gone.used_by
        others = {f"resource/{one.kind}/{one.name}/delete" for one in found.values() if gone.key in one.needs}
        assert {other for other in others if found[tuple(other.split("/")[1:3])].tags} <= reached(plan, key)
        assert gone.kind == "group" or destroys <= reached(plan, key)
    if "resource/group/api/delete" in deleted:
        assert all("resource/group/api/delete" in reached(plan, key) for key in destroys)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(sizes, worlds, etcds, st.booleans())
def test_destroy(size: tuple[int, int], world: dict[str, Any], etcd: dict[str, Any], creates: bool) -> None:
    wanted = desired({"controlplane": size[0], "workers": size[1]})
    seen = observed(wanted, world, etcd=etcd, api=None)
    plan = destroy.build(wanted, seen, destroy.DestroyOptions(), facts(creates=creates))
    everybody = {**seen.nodes, **seen.not_in_inventory}
    for step in plan:
        node = everybody[step.subject]
        assert not isinstance(node.machine, Unknown) and node.machine is not None
        assert creates or (node.configured and not node.foreign_reason)


@settings(max_examples=100, deadline=None)
@given(sizes, worlds, etcds, st.booleans(), st.sets(st.sampled_from(names), min_size=1))
@example((1, 0), {"cp-1": "ready", "cp-2": "unknown"}, {"still": [], "alarms": []}, False, {"cp-1"})
@example((1, 0), {"cp-1": "ready", "cp-2": "gone"}, {"still": ["cp-2"], "alarms": []}, False, {"cp-1"})
def test_some_nodes_are_destroyed(
    size: tuple[int, int], world: dict[str, Any], etcd: dict[str, Any], creates: bool, targets: set[str]
) -> None:
    """As long as a control plane stays, nobody goes whom etcd counts, and nobody of whom that is not known."""
    wanted = desired({"controlplane": size[0], "workers": size[1]})
    seen = observed(wanted, world, etcd=etcd, api=None)
    unlisted = set() if creates else members(seen)  # machines that no provider lists: gone, or not found
    there = {
        *seen.nodes,
        *(name for name, one in seen.not_in_inventory.items() if one.machine is not None or name in unlisted),
    }
    leading = {name for name in there if name.startswith("cp")}
    assume(targets <= {*seen.nodes, *seen.not_in_inventory} and not leading <= targets)
    options = destroy.DestroyOptions(selection=Selection(targets=tuple(sorted(targets))))
    plan = destroy.build(wanted, seen, options, facts(creates=creates))
    assert {step.subject for step in plan} <= targets
    _nobody_goes_whom_etcd_counts(plan, seen)
    if not members(seen) and seen.bootstrapped is not False:
        assert not [step.key for step in plan if step.disruption == "wipe" and step.subject in leading]


@settings(max_examples=100, deadline=None)
@given(sizes, worlds, etcds, st.sampled_from(["etcd/*", "node/*", "*/leave", "*/remove", "machine/*", "*/joined"]))
def test_a_part_is_skipped(size: tuple[int, int], world: dict[str, Any], etcd: dict[str, Any], skip: str) -> None:
    wanted = desired({"controlplane": size[0], "workers": size[1]})
    seen = observed(wanted, world, etcd=etcd, api=None)
    options = up.UpOptions(selection=Selection(skip=(skip,)))
    plan = up.build(wanted, seen, options, facts(forgets_seeds=True))
    _nobody_goes_whom_etcd_counts(plan, seen)
    keys = {step.key for step in plan}
    for name in wanted.nodes:
        assert f"machine/{name}/seed" not in keys or seen.nodes[name].ready or f"node/{name}/joined" in keys
        if seen.nodes[name].machine is None and name in members(seen):
            assert f"machine/{name}" not in keys or f"etcd/{name}/remove" in keys


def _in_the_order_of_needs(plan: Plan) -> None:
    done: set[str] = set()
    for step in plan:  # which also says that there is no circle
        assert set(step.needs) <= done
        done.add(step.key)


def members(seen: Any) -> set[str]:
    everybody = (*seen.nodes.values(), *seen.not_in_inventory.values())
    return {one.name for node in everybody if isinstance(node.etcd, EtcdSeen) for one in node.etcd.members}


def _nobody_goes_whom_etcd_counts(plan: Plan, seen: Any) -> None:
    for step in plan:
        if step.key.endswith(("/destroy", "/reset")) and step.subject in members(seen):
            out = {f"etcd/{step.subject}/leave", f"etcd/{step.subject}/remove"}
            assert out & reached(plan, step.key), f"{step.key} while etcd counts it"


def _one_control_plane_at_a_time(plan: Plan, wanted: Any) -> None:
    """Whatever takes one away or changes it waits for the one before, whichever way it is run."""

    def disturbs(step: Step) -> bool:
        leads = getattr(step.action, "controlplane", False) or step.key.startswith("etcd/")
        return leads and step.key != "etcd/bootstrap" and not step.key.endswith("/remove")

    for before, after in pairwise([step for step in plan if disturbs(step)]):
        assert before.key in reached(plan, after.key)


def _nothing_is_destroyed_unseen(plan: Plan, seen: Any) -> None:
    everybody = {**seen.nodes, **seen.not_in_inventory}
    for step in plan:
        if step.disruption != "wipe":
            continue
        node = everybody[step.subject]
        assert not isinstance(node.machine, Unknown)
        assert not isinstance(node.stage, Unknown), f"{step.key} on a node that does not answer"
        assert not node.foreign_reason


def _one_bootstrap_at_most(plan: Plan, wanted: Any, seen: Any) -> None:
    boots = [step for step in plan if step.key == "etcd/bootstrap"]
    if not boots:
        return
    assert seen.bootstrapped is not True
    first = next(iter(wanted.controlplanes)).name
    assert boots[0].subject == first, "another node than the first would be a second cluster"
    configs = {f"node/{node.name}/config" for node in wanted.controlplanes} & {step.key for step in plan}
    assert configs <= reached(plan, "etcd/bootstrap")


def _what_is_new_comes_before_what_goes(plan: Plan) -> None:
    joins = {step.key for step in plan if step.key.endswith("/joined")}
    for step in plan:
        if step.key.endswith(("/drain", "/leave", "/destroy")):
            assert joins <= reached(plan, step.key)
