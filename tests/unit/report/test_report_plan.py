from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from talosmith.model.drift import Drift
from talosmith.model.evictions import Evictions
from talosmith.model.resources import ResourceKey, SettingChange
from talosmith.plan.blocked import Blocked
from talosmith.plan.step import Disruption, Plan, Step
from talosmith.report.plan import as_text, total
from talosmith.report.plan_markdown import as_markdown
from talosmith.report.style import Style
from talosmith.steps.change_config import ChangeConfig
from talosmith.steps.machines import CreateMachine
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
    assert as_text(plan(), PLAIN) == "✓ in sync: dev matches the inventory"


def test_an_empty_but_blocked_plan_does_not_claim_that_all_is_well() -> None:
    text = as_text(plan(blocked=(Blocked(cause="etcd has no quorum"),)), PLAIN)
    assert text.splitlines() == ["blocked: etcd has no quorum", "plan is blocked: up dev cannot run"]


def test_steps_stand_under_their_node_with_what_and_why() -> None:
    lines = as_text(bring_up_plan(3, 2), PLAIN).splitlines()
    begin = lines.index("w-2")
    assert lines[begin + 1 : begin + 4] == [
        "  • create its machine — there is none  ≈ 9 s (last runs)",
        "  • apply its config — it waits in maintenance mode  ≈ 20 s (last runs)",
        "  • wait until it is Ready — it is not so yet  ≈ 13 s (last runs)",
    ]
    cluster = lines.index("cluster")
    assert "bootstrap etcd on cp-1" in lines[cluster + 1]
    assert lines[-1] == "19 steps on 5 nodes, no reboot, ≈ 1 min 24 s"


def test_the_expected_time_is_that_of_the_longest_chain() -> None:
    parallel = [step(f"machine/w-{number}", f"w-{number}", expected=10) for number in range(50)]
    last = step("cluster/health", needs=tuple(one.key for one in parallel), expected=5)
    assert total(plan(*parallel, last)) == "51 steps on 50 nodes, no reboot, ≈ 15 s"


def test_where_times_are_missing_the_total_says_so() -> None:
    known, unknown = step("a/1", "a", expected=30), step("b/1", "b")
    assert total(plan(known, unknown)) == "2 steps on 2 nodes, no reboot, 30 s or more"
    assert total(plan(unknown)) == "1 step on 1 node, no reboot"
    assert total(plan(step("cluster/health"))) == "1 step, no reboot"


@pytest.mark.parametrize(
    ("disruption", "words"),
    [
        ("restart", "restart: components restart; the node stays up"),
        ("reboot", "reboot: the node is unavailable until it is back"),
        ("drain", "drain: pods are evicted and start again on other nodes"),
        ("wipe", "wipe: all data on its disks is lost"),
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
        blocked=(Blocked(cause="etcd has no quorum", nodes=("cp-1", "cp-2"), fix="talosmith up"),),
    )
    lines = as_text(made, PLAIN).splitlines()
    assert lines[-5:] == [
        "note: w-8 is off",
        "to be confirmed: the disks of w-9 are lost",
        "blocked: cp-1, cp-2: etcd has no quorum",
        "      fix: talosmith up",
        "plan is blocked: up dev cannot run (1 step on 1 node, no reboot, 1 wipe)",
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
    worker = step("node/w-2/config", "w-2", "resize machine", disruption="reboot", needs=(third.key,))
    lines = as_text(plan(first, second, third, calm, worker), PLAIN).splitlines()
    said = {lines[index - 2]: line.partition("is back")[2] for index, line in enumerate(lines) if "reboot:" in line}
    assert said == {"cp-1, cp-2, cp-3": "; one at a time", "w-2": "; after cp-3"}
    assert not [line for line in lines[lines.index("w-1") : lines.index("w-2")] if "after" in line]


def test_nodes_that_take_turns_are_one_group_and_etcd_is_told_for_each() -> None:
    effect = "2 of 3 members stay healthy while `{}` restarts"
    waits: dict[int, tuple[Any, ...]] = {1: (), 2: (), 3: ("node/w-1/x",), 4: ("node/w-2/x",)}
    steps = [
        step(
            f"node/w-{number}/x", f"w-{number}", disruption="reboot", needs=needs, effect=effect.format(f"w-{number}")
        )
        for number, needs in waits.items()
    ]
    assert as_text(plan(*steps), PLAIN).splitlines()[2:6] == [
        "w-1, w-2, w-3, w-4",
        "  ↻ do it — it is not so yet",
        "      reboot: the node is unavailable until it is back; 2 at a time",
        "      etcd and API: 2 of 3 members stay healthy while the node restarts",
    ]


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
        "      + mode: nat",
        "  • update pool talos — differs",
        "      ~ active: no → yes",
        "      ~ zones: + b",
        "",
        "w-1",
    ]
    assert total(made).startswith("3 steps on 1 node,")
    assert as_text(json.loads(json.dumps(made.as_data())), PLAIN) == as_text(made, PLAIN)


def new_machine(name: str, address: str, zone: str) -> Step[Any]:
    new = tuple(SettingChange(what, None, value) for what, value in (("address", address), ("zone", zone)))
    return Step(action=CreateMachine(name, new=new), reason="machine does not exist")


def test_new_machines_are_one_group_with_a_line_each() -> None:
    made = plan(new_machine("w-1", "10.0.0.20", "a"), new_machine("w-2", "10.0.1.20", "b"))
    assert as_text(made, PLAIN).splitlines()[2:7] == [
        "w-1, w-2",
        "  • create machine — machine does not exist",
        "      + w-1: address 10.0.0.20, zone a",
        "      + w-2: address 10.0.1.20, zone b",
        "",
    ]
    assert "  - w-2: address 10.0.1.20, zone b" in as_markdown(made).splitlines()
    assert [one["after"] for one in made.as_data()["steps"][1]["settings"]] == ["10.0.1.20", "b"]


def test_one_new_machine_is_not_named_twice() -> None:
    text = as_text(plan(new_machine("w-1", "10.0.0.20", "a")), PLAIN)
    assert "      + address 10.0.0.20, zone a" in text.splitlines()


def test_foreign_words_cannot_act_on_the_terminal() -> None:
    made = Plan(
        operation="up",
        cluster=HOSTILE,
        steps=(step("a/b", HOSTILE, HOSTILE, reason=HOSTILE, effect=HOSTILE, disruption="wipe"),),
        notes=(HOSTILE,),
        blocked=(Blocked(cause=HOSTILE, nodes=(HOSTILE,), fix=HOSTILE, symptoms=(HOSTILE,)),),
        drift=(Drift(node=HOSTILE + "x", kind="size", live=HOSTILE, wanted=HOSTILE),),
        confirm=(HOSTILE,),
    )
    text = as_text(made, PLAIN)
    assert is_tame(text)
    assert text.count("owned") == 15
    markdown = as_markdown(made)
    assert is_tame(markdown) and markdown.count("owned") == 15
    assert "<" not in markdown


CHANGED = (
    SettingChange("machine.sysctls.vm.max_map_count", "1", "2"),
    SettingChange("machine.certSANs", None, ["a", "b"]),
    SettingChange("machine.env.A", "***", None, True),
    SettingChange("machine.token", "***", "***", True),
)


def config_step(name: str, changed: tuple[SettingChange, ...] = CHANGED, **more: Any) -> Step[Any]:
    return Step(action=ChangeConfig(name, changed=changed, **more), reason="machine config differs")


def test_changed_fields_are_shown_with_both_values_and_equal_nodes_once() -> None:
    made = plan(config_step("w-1"), config_step("w-2"), config_step("w-3", CHANGED[:1]))
    assert as_text(made, PLAIN).splitlines()[2:10] == [
        "w-1, w-2",
        "  • update machine config, no reboot — machine config differs",
        "      ~ machine.sysctls.vm.max_map_count: 1 → 2",
        "      + machine.certSANs: a, b",
        "      - machine.env.A: ***",
        "      ~ machine.token: *** → *** (changed)",
        "",
        "w-3",
    ]
    coloured = as_text(made, COLOURS)
    assert "\x1b[32m+\x1b[0m machine.certSANs" in coloured
    assert "\x1b[1;31m-\x1b[0m machine.env" in coloured
    assert "\x1b[33m~\x1b[0m machine.token" in coloured


def test_long_lines_are_continued_with_indentation_and_nothing_is_cut() -> None:
    long = SettingChange("machine.certSANs", None, [f"name-{number}.example.org" for number in range(12)])
    made = plan(config_step("w-1", (long,)), notes=("word " * 40,))
    for style in (PLAIN, COLOURS):
        whole, lines = as_text(made, style), as_text(made, style, 80).splitlines()
        assert max(len(re.sub("\x1b[^m]*m", "", line)) for line in lines) <= 80
        assert " ".join(" ".join(lines).split()) == " ".join(whole.split())
        first = next(index for index, line in enumerate(lines) if "certSANs" in line)
        assert lines[first + 1].startswith(" " * 8 + "name-")


def test_drift_that_no_step_changes_is_shown_and_the_plan_is_not_in_sync() -> None:
    def talos(node: str) -> Drift:
        return Drift(node=node, kind="talos-version", live="v1.13.8", wanted="v1.13.9")

    off = Drift(node="w-1", kind="machine", live="off", wanted="on")
    made = plan(drift=(talos("cp-1"), talos("cp-2"), off))
    assert as_text(made, PLAIN).splitlines() == [
        "drift: cp-1, cp-2: Talos v1.13.8 → v1.13.9: run an upgrade (`talosctl upgrade …`; `up` does not upgrade)",
        "drift: w-1: machine: off → on",
        "not in sync: 3 nodes differ from the inventory; up has nothing to do",
    ]
    assert made.in_sync is made.as_data()["in_sync"] is False
    healing = plan(step("machine/w-1/power", "w-1", "power on machine"), drift=(off,))
    assert "drift:" not in as_text(healing, PLAIN)
    spot = Drift(node="w-1", kind="machine-setting", live="spot no", wanted="spot yes")
    fix = "replace the node (`talosmith destroy -n NODE`, then `talosmith up`)"
    resized = as_text(plan(step("machine/w-1/resize", "w-1"), drift=(spot,)), PLAIN)
    assert f"drift: w-1: machine: spot no → spot yes: {fix}" in resized.splitlines()


def test_a_block_names_its_cause_once_with_values_symptoms_and_fix() -> None:
    block = Blocked(
        cause="Kubernetes version differs",
        nodes=("cp-1", "w-1"),
        settings=(SettingChange("kubernetes_version", "v1.35.0", "v1.36.3"),),
        fix="talosctl upgrade-k8s --to 1.36.3",
        symptoms=("machine.kubelet.image differs",),
    )
    same = Drift(node="w-1", kind="kubernetes-version", live="v1.35.0", wanted="v1.36.3")
    assert as_text(plan(blocked=(block,), drift=(same,)), PLAIN).splitlines() == [
        "blocked: cp-1, w-1: Kubernetes version differs",
        "      ~ kubernetes_version: v1.35.0 → v1.36.3",
        "      therefore: machine.kubelet.image differs",
        "      fix: talosctl upgrade-k8s --to 1.36.3",
        "plan is blocked: up dev cannot run",
    ]


@pytest.mark.parametrize(
    ("disruption", "evictions", "words"),
    [
        ("drain", Evictions(), "none to evict"),
        (
            "drain",
            Evictions(pods=7, blocking=("shop/db",), bare=("default/debug",), empty_dir=2),
            "7 to evict; no disruption allowed now by PodDisruptionBudget shop/db, so the drain waits; lost, no "
            "controller creates them again: default/debug; emptyDir data lost: 2 pods",
        ),
        (
            "reboot",
            Evictions(pods=7, blocking=("shop/db",), bare=("default/debug",), empty_dir=2),
            "7 stop until the node is back (a reboot does not drain); no disruption allowed now by "
            "PodDisruptionBudget shop/db; not started elsewhere, no controller: default/debug",
        ),
        ("reboot", Evictions(unknown="connection refused"), "unknown (connection refused)"),
    ],
)
def test_what_a_drain_or_a_reboot_does_to_pods(disruption: Disruption, evictions: Evictions, words: str) -> None:
    one = replace(step("node/w-1/x", "w-1", disruption=disruption), evictions=evictions)
    assert f"      pods: {words}" in as_text(plan(one), PLAIN).splitlines()
    assert f"  - pods: {words}" in as_markdown(plan(one)).splitlines()


def test_pods_do_not_change_the_digest_of_a_plan_and_a_masked_change_does() -> None:
    one = step("node/w-1/x", "w-1", disruption="reboot")
    assert plan(one).digest == plan(replace(one, evictions=Evictions(pods=3), expected=9.0)).digest
    configs = [Drift(node="w-1", kind="config", live="a", wanted=wanted) for wanted in ("b", "c")]
    assert plan(one, drift=(configs[0],)).digest != plan(one, drift=(configs[1],)).digest


def test_markdown_shows_changed_values_as_a_diff() -> None:
    made = plan(config_step("w-1"), config_step("w-2"), notes=("w-3 @is <off>",))
    assert as_markdown(made).splitlines() == [
        "## Plan: up dev",
        "",
        "**2 steps on 2 nodes, no reboot**",
        "",
        "### w-1, w-2",
        "",
        "- update machine config, no reboot — machine config differs",
        "",
        "  ```diff",
        "  - machine.sysctls.vm.max_map_count: 1",
        "  + machine.sysctls.vm.max_map_count: 2",
        "  + machine.certSANs: a, b",
        "  - machine.env.A: ***",
        "  ! machine.token: *** → *** (changed)",
        "  ```",
        "",
        "",
        "- note: w-3 &#64;is &#60;off&#62;",
    ]
    assert "**✓ in sync: dev matches the inventory**" in as_markdown(plan())
