"""How a run ended, in words, as data, and as a list to go through."""

from __future__ import annotations

import dataclasses
import io

from talosmith.events import Event
from talosmith.report import checklist, summary
from talosmith.report.follow import RunSeen
from talosmith.report.style import Style
from tests.unit.report.stories import HOSTILE, START, Story, bring_up_plan, is_tame

PLAIN = Style(io.StringIO())


def test_all_done() -> None:
    run = RunSeen(Story(bring_up_plan(), already=("machine/cp-1", "machine/cp-2")).events())
    text = summary.as_text(run, PLAIN, again="talosmith up")
    assert text == "✓ up dev done in 1 min 24 s: 19 steps (2 unchanged)"


def test_a_failure_tells_why_how_to_go_on_and_what_it_kept_from_being_done() -> None:
    run = RunSeen(Story(bring_up_plan(), fails={"machine/w-1": "the host has no room left"}).events())
    assert summary.as_text(run, PLAIN, again="talosmith up -i here").splitlines() == [
        "✗ up dev failed after 1 min 18 s: 15 of 19 steps done, 1 failed, 3 not done",
        "  ✗ w-1: create its machine: the host has no room left",
        "      fix: look at its console",
        "      skipped (depends on it): w-1 (apply its config), w-1 (wait until it is Ready), "
        "cluster (wait until all is healthy)",
        "  resume: talosmith up -i here",
    ]
    data = summary.as_data(run)
    assert data["outcome"] == "failed"
    assert data["failed"] == [
        {
            "key": "machine/w-1",
            "subject": "w-1",
            "title": "create its machine",
            "message": "the host has no room left",
            "fix": "look at its console",
        }
    ]
    assert [one["key"] for one in data["left"]] == ["node/w-1/config", "node/w-1/joined", "cluster/health"]
    assert len(data["done"]) == 15


def test_what_was_stopped_or_killed_is_left_and_nobody_is_blamed() -> None:
    events = Story(bring_up_plan(), killed_at=38).events()
    killed = RunSeen(events)
    text = summary.as_text(killed, PLAIN, again="talosmith up")
    assert text.startswith(
        "? up dev did not finish (killed, or still running); last event after 38 s: 10 of 19 steps done, 9 not done\n"
    )
    assert "\n  interrupted: cluster: bootstrap etcd on cp-1: waiting for an answer\n" in text
    assert "\n  not started: cluster (wait for the control plane), cp-1 (wait until it is Ready), " in text
    assert text.endswith("resume: talosmith up")
    end = dataclasses.replace(events[0], kind="run-finished", at=START + 40, data={"outcome": "stopped"})
    stopped = summary.as_text(RunSeen([*events, end]), PLAIN)
    assert stopped.startswith("■ up dev stopped after 40 s: 10 of 19 steps done, 9 not done")


def test_the_checklist_follows_the_stages_of_a_bring_up() -> None:
    done = checklist.of_run(RunSeen(Story(bring_up_plan()).events()))
    assert [item.name for item in done] == [
        "machines are running",
        "machine configs are applied",
        "etcd is bootstrapped",
        "Kubernetes API is ready",
        "nodes have joined",
        "cluster is healthy",
        "talosconfig and kubeconfig are written",
    ]
    assert all(item.ok for item in done)
    assert done[0].detail == "5 nodes: cp-1, cp-2, cp-3, w-1, w-2"


def test_the_checklist_tells_failed_from_not_reached() -> None:
    story = Story(bring_up_plan(), fails={"node/cp-1/config": "it refuses the config"})
    items = {item.name: item for item in checklist.of_run(RunSeen(story.events()))}
    assert items["machines are running"].ok is True
    assert items["machine configs are not applied"] == (
        "machine configs are not applied",
        False,
        "cp-1: it refuses the config",
    )
    assert items["nodes have joined"] == (
        "nodes have joined",
        None,
        "left: cp-1, cp-2, cp-3, w-1, w-2",
    )
    lines = checklist.as_text(items.values(), PLAIN).splitlines()
    assert lines[0].startswith("✓ machines are running ")
    assert lines[1].startswith("✗ machine configs are not applied: cp-1: it refuses the config")
    assert lines[4].startswith("? nodes have joined ")


def test_what_was_stopped_tells_what_it_waited_for() -> None:
    wait = "waiting for all nodes: w-2 is not in Kubernetes"
    story = Story(bring_up_plan(), waits={"cluster/health": wait}, killed_at=82)
    stop = Event(kind="step-skipped", at=START + 83, step="cluster/health", text="stopped before it was done")
    run = RunSeen([*story.events(), stop])
    assert checklist.of_run(run)[5] == ("cluster is healthy", None, f"left: wait until all is healthy; {wait}")
    assert f"interrupted: cluster: wait until all is healthy: {wait}" in summary.as_text(run, PLAIN)


def test_a_cluster_that_is_not_healthy_is_named_by_its_root_cause() -> None:
    story = Story(bring_up_plan(), fails={"cluster/health": "nodes are NotReady: no CNI is installed"})
    lines = checklist.as_text(checklist.of_run(RunSeen(story.events())), PLAIN).splitlines()
    assert "✗ nodes are NotReady: no CNI is installed" in lines
    assert not any("healthy" in line for line in lines)


def test_a_checklist_can_be_of_anything() -> None:
    text = checklist.as_text([("pods run", True, "12 of 12"), ("DNS resolves", False, "no answer")], PLAIN)
    assert text == "✓ pods run  12 of 12\n✗ DNS resolves: no answer"
    assert checklist.as_text([], PLAIN) == ""


def test_next_commands_can_be_pasted() -> None:
    assert checklist.next_commands(["kubectl get nodes", "talosctl health"], PLAIN) == (
        "next:\n  kubectl get nodes\n  talosctl health"
    )


def test_foreign_words_cannot_act_on_the_terminal() -> None:
    story = Story(bring_up_plan(cluster=HOSTILE), fails={"machine/w-1": HOSTILE})
    run = RunSeen(
        dataclasses.replace(event, data={**event.data, "hint": HOSTILE, "because": HOSTILE})
        for event in story.events()
    )
    for text in (
        summary.as_text(run, PLAIN),
        checklist.as_text(checklist.of_run(run), PLAIN),
        checklist.as_text([(HOSTILE, False, HOSTILE)], PLAIN),
        checklist.next_commands([HOSTILE], PLAIN),
    ):
        assert "owned" in text
        assert is_tame(text)
