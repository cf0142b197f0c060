from __future__ import annotations

import io
import json
from typing import Any

import pytest

from talosmith.model.resources import ResourceKey, SettingChange
from talosmith.plan.step import Disruption, Plan, Step
from talosmith.report.plan import as_text, total
from talosmith.report.style import Style
from talosmith.steps.resources import CreateResource, UpdateResource
from tests.unit.report.screen import Screen
from tests.unit.report.stories import HOSTILE, bring_up_plan, is_tame, step

NETWORK, POOL = ResourceKey("network", "nodes"), ResourceKey("pool", "talos")
PLAIN = Style(io.StringIO())
COLOURS = Style(Screen())
COLOURS.enabled = True  # whatever terminal the tests run in


def plan(*steps: object, **more: object) -> Plan:
    return Plan(operation="up", cluster="dev", steps=steps, **more)  # type: ignore[arg-type]


def test_an_empty_plan_is_one_honest_line() -> None:
    assert as_text(plan(), PLAIN) == "✓ nothing to do: dev is as the inventory says"


def test_an_empty_but_blocked_plan_does_not_claim_that_all_is_well() -> None:
    text = as_text(plan(blocked=("etcd has no quorum",)), PLAIN)
    assert "✓" not in text
    assert "as the inventory says" not in text
    assert "blocked: etcd has no quorum" in text


def test_steps_stand_under_their_node_with_what_and_why() -> None:
    lines = as_text(bring_up_plan(3, 2), PLAIN).splitlines()
    begin = lines.index("w-2")
    assert lines[begin + 1 : begin + 4] == [
        "  • create its machine — there is none  (9 s)",
        "  • apply its config — it waits in maintenance mode  (20 s)",
        "  • wait until it is Ready — it is not so yet  (13 s)",
    ]
    cluster = lines.index("the cluster as a whole")
    assert "bootstrap etcd on cp-1" in lines[cluster + 1]
    assert lines[-1] == "19 steps on 5 nodes, no reboot, about 1 min 24 s"


def test_the_expected_time_is_that_of_the_longest_chain() -> None:
    parallel = [step(f"machine/w-{number}", f"w-{number}", expected=10) for number in range(50)]
    last = step("cluster/health", needs=tuple(one.key for one in parallel), expected=5)
    assert total(plan(*parallel, last)) == "51 steps on 50 nodes, no reboot, about 15 s"


def test_where_times_are_missing_the_total_says_so() -> None:
    known, unknown = step("a/1", "a", expected=30), step("b/1", "b")
    assert total(plan(known, unknown)) == "2 steps on 2 nodes, no reboot, 30 s or more"
    assert total(plan(unknown)) == "1 step on 1 node, no reboot"
    assert total(plan(step("cluster/health"))) == "1 step, no reboot"


@pytest.mark.parametrize(
    ("disruption", "words"),
    [
        ("restart", "restart: services restart; the machine stays up"),
        ("reboot", "reboot: the machine restarts, and is away meanwhile"),
        ("drain", "drain: its pods end here and start again on other nodes"),
        ("wipe", "wipe: what it holds is lost for good"),
    ],
)
def test_every_disruption_and_its_effect_is_spelled_out_and_coloured(disruption: Disruption, words: str) -> None:
    effect = "2 of 3 members stay healthy while `cp-2` restarts"
    made = plan(step("node/cp-2/x", "cp-2", "change it", disruption=disruption, effect=effect))
    text = as_text(made, PLAIN)
    assert words in text
    assert f"etcd and API: {effect}" in text
    assert f"1 {disruption}" in text.splitlines()[-1]
    red, yellow = "\x1b[1;31m", "\x1b[33m"
    assert (red if disruption == "wipe" else yellow) + f"{disruption}:" in as_text(made, COLOURS)
    assert "\x1b" not in text


def test_blocks_confirmations_and_notes_are_told() -> None:
    made = plan(
        step("machine/w-9/destroy", "w-9", disruption="wipe"),
        notes=("w-8 is off",),
        confirm=("the disks of w-9 are lost",),
        blocked=("etcd has no quorum",),
    )
    lines = as_text(made, PLAIN).splitlines()
    assert lines[-4:] == [
        "note: w-8 is off",
        "to be confirmed: the disks of w-9 are lost",
        "blocked: etcd has no quorum",
        "up dev must not be run: 1 step on 1 node, no reboot, 1 wipe",
    ]


def test_nodes_of_the_same_steps_are_told_once_with_all_their_names() -> None:
    made = plan(*(step(f"node/w-{number}/config", f"w-{number}", "apply its config") for number in range(1, 201)))
    lines = as_text(made, PLAIN).splitlines()
    assert len(lines) < 10
    assert all(f"w-{number}" in lines[2].split(", ") for number in range(1, 201))
    other = step("node/w-201/config", "w-201", "apply its config", disruption="reboot")
    assert "\nw-201\n  ↻ apply its config" in as_text(plan(*made.steps, other), PLAIN)


def test_what_is_done_one_after_the_other_is_told() -> None:
    first = step("node/cp-1/config", "cp-1", disruption="reboot")
    second = step("node/cp-2/config", "cp-2", disruption="reboot", needs=(first.key,))
    third = step("node/cp-3/config", "cp-3", disruption="reboot", needs=(first.key, second.key))
    calm = step("node/w-1/config", "w-1", needs=(third.key,))
    lines = as_text(plan(first, second, third, calm), PLAIN).splitlines()
    said = [line.partition("meanwhile")[2] for line in lines if "reboot:" in line]
    assert said == ["", "; not before cp-1 is done", "; not before cp-2 is done"]
    assert not [line for line in lines[lines.index("w-1") :] if "not before" in line]


def test_a_plan_file_reads_like_the_plan() -> None:
    made = bring_up_plan()
    assert as_text(json.loads(json.dumps(made.as_data())), PLAIN) == as_text(made, PLAIN)


def test_resources_stand_together_with_their_settings_before_and_after() -> None:
    create: Step[Any] = Step(
        action=CreateResource(NETWORK, (SettingChange("mode", None, "nat"),)), reason="is missing"
    )
    changes = (SettingChange("active", False, True), SettingChange("zones", ["a"], ["a", "b"]))
    update: Step[Any] = Step(action=UpdateResource(POOL, changes), reason="differs")
    made = plan(create, update, step("machine/w-1", "w-1"))
    assert as_text(made, PLAIN).splitlines()[2:10] == [
        "resources",
        "  • create network nodes — is missing",
        "      mode: nat",
        "  • update pool talos — differs",
        "      active: no → yes",
        "      zones: a → a, b",
        "",
        "w-1",
    ]
    assert total(made).startswith("3 steps on 1 node,")
    assert as_text(json.loads(json.dumps(made.as_data())), PLAIN) == as_text(made, PLAIN)


def test_foreign_words_cannot_act_on_the_terminal() -> None:
    made = Plan(
        operation="up",
        cluster=HOSTILE,
        steps=(step("a/b", HOSTILE, HOSTILE, reason=HOSTILE, effect=HOSTILE, disruption="wipe"),),
        notes=(HOSTILE,),
        blocked=(HOSTILE,),
        confirm=(HOSTILE,),
    )
    text = as_text(made, PLAIN)
    assert is_tame(text)
    assert text.count("owned") == 9
