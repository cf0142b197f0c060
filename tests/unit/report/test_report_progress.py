"""What people see while a run goes on, on a screen of a certain size."""

from __future__ import annotations

import dataclasses
import io
import threading

import pytest

from talosmith.events import Event
from talosmith.report.plain import PlainLines
from talosmith.report.progress import Progress, watching
from tests.unit.report.screen import Screen
from tests.unit.report.stories import HOSTILE, START, Story, bring_up_plan, is_tame


class Watch:
    """A story played to a screen, with a picture after every event, or after every few."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.now = START
        self.progress = Progress(screen, clock=lambda: self.now, size=screen.size, moves=False)

    def play(self, events: list[Event], until: float = 1e9, every: int = 1) -> list[str]:
        for place, event in enumerate(events, start=1):
            if event.at > START + until:
                break
            self.now = event.at
            self.progress(event)
            if place % every == 0 or place == len(events):
                self.progress.paint()
        return self.screen.shown()


def line_of(lines: list[str], name: str) -> str:
    (found,) = [line for line in lines if line.split()[1:2] == [name]]
    return found


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_a_line_per_node_that_moves() -> None:
    story = Story(bring_up_plan(), waits={"cluster/controlplane": "waiting for etcd on cp-2: no leader yet"})
    lines = Watch(Screen(100)).play(story.events(), until=55)
    assert (
        lines[0] == "up dev  11 of 19 steps  0:52  about 32 s left"
    )  # 13 of the wait for the control plane, 13 for w-2, 6 until healthy
    assert line_of(lines, "cluster").endswith(" 0:12  wait for the control plane: no leader yet")
    assert line_of(lines, "cp-1").endswith("joining  waiting on cluster: wait for the control plane")
    assert len(lines) == 7


def test_a_node_is_not_named_twice_in_its_line() -> None:
    wait = "waiting for maintenance mode: cp-1 (10.0.0.2): no connection to port 50000, cp-2: neither"
    lines = Watch(Screen(120)).play(Story(bring_up_plan(), waits={"machine/cp-1": wait}).events(), until=4)
    assert line_of(lines, "cp-1").endswith("create its machine: no connection to port 50000, cp-2: neither")


UNMET = (
    "etcd not running, kube-apiserver pending, kube-controller-manager pending, kube-scheduler pending, "
    "node is not Ready"
)
CAUSES = {
    "short": "no leader",
    "fits without the title": "no connection to port 50000 (connection refused)",
    "several lines": UNMET,
    "one long word": "https://" + "a" * 150,
}


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
@pytest.mark.parametrize("node", ["cp-1", "talos-control-plane-of-rack-12"])
def test_the_reason_is_whole_on_80_columns(node: str, cause: str) -> None:
    story = Story(bring_up_plan(), waits={"machine/cp-1": f"waiting for the machine: cp-1 (10.0.0.2): {cause}"})
    events = [
        dataclasses.replace(one, subject=node if one.subject == "cp-1" else one.subject) for one in story.events()
    ]
    plan = events[0].data["plan"]
    renamed = {
        key: {**step, "subject": node if step["subject"] == "cp-1" else step["subject"]} for key, step in plan.items()
    }
    events[0] = dataclasses.replace(events[0], data={**events[0].data, "plan": renamed})
    lines = Watch(Screen(80, 24)).play(events, until=4)
    assert all(len(line) < 80 for line in lines)
    shown = words(lines)
    assert cause in shown or cause in shown.replace(" ", ""), lines
    assert "…" not in line_of(lines, lines[1].split()[1]) or len(node) > 24, "only a long name is cut"


def test_a_failure_is_whole_on_80_columns_while_the_run_goes_on() -> None:
    lines = Watch(Screen(80, 24)).play(Story(bring_up_plan(), fails={"machine/w-1": UNMET}).events(), until=20)
    assert UNMET in words(lines)


def test_phases_are_reported_and_follow_from_what_was_done() -> None:
    plan = bring_up_plan(1, 1)
    events = Story(plan, waits={"node/w-1/config": "stage is installing"}).events()
    events = [
        dataclasses.replace(one, data={"phase": "installing"}) if one.text == "stage is installing" else one
        for one in events
    ]
    seen = {}
    for until in (4, 10, 25, 40, 60):
        lines = Watch(Screen(100)).play(events, until=until)
        seen[until] = [line_of(lines, name).split()[3] for name in ("cp-1", "w-1")]
    assert seen == {
        4: ["no", "no"],  # machine
        10: ["booting", "booting"],
        25: ["booting", "installing"],
        40: ["joining", "joining"],
        60: ["joining", "joining"],
    }
    assert "✓ cp-1     Ready" in line_of(Watch(Screen(100)).play(events), "cp-1")


def test_the_estimate_comes_from_defaults_where_no_run_was_before_and_never_lies_for_long() -> None:
    plan = bring_up_plan(1, 0)
    unknown = dataclasses.replace(plan, steps=tuple(dataclasses.replace(one, expected=None) for one in plan))
    events = Story(unknown).events()  # a step takes 1 s
    first, *_ = Watch(Screen(100)).play(events[:2])
    assert first.endswith("about 5 min 20 s left")  # 30 + 120 + 5 + 90 + 60 + 15
    later, *_ = Watch(Screen(100)).play([one for one in events if one.at <= START + 2.1])
    assert later.endswith("s left") and "min" not in later, "the first steps were quick"
    watch = Watch(Screen(100))
    watch.play(events[:2])
    watch.now = START + 500
    watch.progress.paint()
    assert watch.screen.shown()[0].endswith("takes longer than expected")


def test_nodes_that_have_not_moved_are_counted() -> None:
    story = Story(bring_up_plan(1, 2))
    lines = Watch(Screen()).play(story.events()[:2])
    assert "create its machine" in line_of(lines, "cp-1")
    assert lines[-1] == "  … 3 more: 3 to come"


def test_failures_stay_in_sight_and_finished_nodes_settle() -> None:
    story = Story(bring_up_plan(), fails={"machine/w-1": "the host has no room left"})
    watch = Watch(Screen())
    lines = watch.play(story.events()[:-1])
    assert "✗ w-1" in line_of(lines, "w-1")
    assert line_of(lines, "w-1").endswith("create its machine: the host has no room left")
    assert "✓ cp-1" in line_of(lines, "cp-1")
    watch.play(story.events()[-1:])
    final = watch.screen.shown()
    assert line_of(final, "cp-1").endswith("✓ cp-1     Ready       done in 1 min 14 s")
    assert line_of(final, "w-1").endswith("create its machine: the host has no room left")
    assert "skipped: wait until all is healthy" in line_of(final, "cluster")
    assert len(final) == 6  # what moved is gone, what was found out stays


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (20, 4), (200, 50)])
def test_two_hundred_nodes_fit_on_any_screen(columns: int, rows: int) -> None:
    screen = Screen(columns, rows)
    failing = {"machine/w-150": "the host has no room left", "machine/w-7": "the host has no room left"}
    story = Story(bring_up_plan(3, 200), fails=failing)
    events = story.events()
    watch = Watch(screen)
    middle = [one for one in events if one.at <= START + 12]
    lines = watch.play(middle, every=40)
    assert len(lines) <= rows - 1
    assert all(len(line) < columns for line in lines)
    assert sum("✗" in line for line in lines) == min(2, rows - 3)
    assert "more: " in lines[-1]
    counted = int(lines[-1].split()[1])
    assert counted + sum(line.startswith("  ") and line[2] != " " for line in lines[:-1]) == 204  # none is forgotten
    watch.play(events[len(middle) :], every=40)
    final = "".join(
        "".join(line) for line in screen.lines
    )  # what stays is told in full, over several lines if need be
    assert final.count("✗") == final.count("no room left") == 2
    assert final.endswith("… 201 more: 201 done")


def test_nothing_is_left_behind_when_the_window_gets_narrower() -> None:
    story = Story(bring_up_plan(), fails={"machine/w-1": "the host has no room left: 2 GiB are free, 4 are needed"})
    events = story.events()
    screen = Screen(80, 24)
    screen.write("$ talosmith up\n")
    watch = Watch(screen)
    for place, event in enumerate(events[:-1]):
        if place in (20, 35, 50):
            screen.narrow(screen.columns - 15)
        watch.play([event])
        lines = screen.shown()
        assert lines[0] == "$ talosmith up"
        assert sum(line.startswith("up dev") for line in lines) == 1
        assert len([line for line in lines if not line.startswith("   ")]) <= 8  # besides lines of a long reason


def test_each_picture_is_one_write() -> None:
    watch = Watch(Screen())
    events = Story(bring_up_plan()).events()
    watch.play(events[:-1])
    assert watch.screen.writes == len(events) - 1


def test_warnings_stay_above() -> None:
    watch = Watch(Screen())
    events = Story(bring_up_plan()).events()
    warning = Event(kind="warning", at=START + 1, subject="cp-2", text="its clock is 3 s off")
    early = Event(kind="note", at=START - 1, text="trusting on first use")
    watch.play([early, *events[:6], warning, *events[6:]])
    assert watch.screen.shown()[:2] == ["note: trusting on first use", "warning: cp-2: its clock is 3 s off"]


def test_wide_letters_are_counted_as_wide() -> None:
    screen = Screen(40, 10)
    started = Story(bring_up_plan(1, 0)).events()[:2]
    wait = dataclasses.replace(started[1], kind="step-progress", text="完" * 100)
    watch = Watch(screen)
    watch.play([*started, wait])
    line = line_of(screen.shown(), "cp-1")
    assert len(line) + line.count("完") < 40


def test_foreign_words_cannot_act_on_the_terminal() -> None:
    screen = Screen()
    watch = Watch(screen)
    for event in Story(bring_up_plan(), fails={"machine/w-1": "x"}).events():
        watch.play([dataclasses.replace(event, text=HOSTILE, subject=HOSTILE, step=event.step + HOSTILE)])
    lines = screen.shown()
    assert any("owned" in line for line in lines)
    assert all(is_tame(line) for line in lines)


def test_a_terminal_that_goes_away_does_not_stop_the_run() -> None:
    screen = Screen()
    progress = Progress(screen, size=screen.size, moves=False)
    screen.close()
    screen.write = lambda text: io.StringIO.write(screen, text)  # type: ignore[method-assign]
    for event in Story(bring_up_plan()).events():
        progress(event)
        progress.paint()
    assert progress.run.outcome == "done"


def test_clocks_go_on_between_events_and_the_thread_ends() -> None:
    screen = Screen()
    painted = threading.Event()
    ticks = iter(range(10_000))

    def clock() -> float:
        now = START + next(ticks)
        if now > START + 3:
            painted.set()
        return now

    progress = Progress(screen, clock=clock, size=screen.size)
    for event in Story(bring_up_plan(1, 0)).events()[:2]:
        progress(event)
    with progress:
        assert [thread.name for thread in threading.enumerate()].count("progress") == 1
        assert painted.wait(120)
    assert "progress" not in [thread.name for thread in threading.enumerate()]
    assert "create its machine" in line_of(screen.shown(), "cp-1")  # killed in the middle: the last picture stays


def test_pipes_get_plain_lines_and_terminals_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with watching(io.StringIO()) as listener:
        assert isinstance(listener, PlainLines)
    with watching(Screen()) as listener:
        assert isinstance(listener, Progress)
    monkeypatch.setenv("TERM", "dumb")
    with watching(Screen()) as listener:
        assert isinstance(listener, PlainLines)
