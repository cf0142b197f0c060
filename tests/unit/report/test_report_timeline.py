"""Where the time of a run went, as text and as a page."""

from __future__ import annotations

import dataclasses
import io
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.errors import Permanent
from talosmith.plan.step import Plan
from talosmith.report.style import Style
from talosmith.report.timeline import as_text, timeline
from talosmith.report.timeline_html import as_html, packed, write_timeline
from tests.unit.report.stories import HOSTILE, Story, bring_up_plan, is_tame, step

PLAIN = Style(io.StringIO())


class Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_critical_path_is_the_chain_that_the_length_comes_from() -> None:
    found = timeline(Story(bring_up_plan()).events())
    assert found.path == (
        "machine/cp-3",
        "node/cp-3/config",
        "etcd/bootstrap",
        "cluster/controlplane",
        "node/w-2/joined",
        "cluster/health",
    )
    assert found.path_seconds == pytest.approx(found.seconds) == pytest.approx(84)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    steps = []
    for number in range(draw(st.integers(1, 12))):
        needs = draw(st.sets(st.integers(0, number - 1))) if number else set()
        keys = tuple(f"node/n{need}/x" for need in sorted(needs))
        seconds = draw(st.floats(0.01, 100))
        steps.append(step(f"node/n{number}/x", f"n{number % 3}", needs=keys, expected=seconds))
    return Plan(operation="up", cluster="dev", steps=tuple(steps))


@given(plans())
def test_when_nothing_waits_for_a_free_hand_the_critical_path_is_as_long_as_the_run(plan: Plan) -> None:
    found = timeline(Story(plan).events())
    assert found.path_seconds == pytest.approx(found.seconds, abs=1e-3)
    needs = {one.key: one.needs for one in plan}
    assert all(before in needs[after] for before, after in pairwise(found.path))
    assert is_tame(as_text(found, PLAIN))
    for bars in found.lanes.values():
        rows = packed(bars)
        assert sorted(bar.key for row in rows for bar in row) == sorted(bar.key for bar in bars)
        assert all(one.end <= other.begin + 1e-6 for row in rows for one, other in pairwise(row))


def test_waits_are_the_stretches_between_what_was_said() -> None:
    found = timeline(Story(bring_up_plan(), waits={"etcd/bootstrap": "no leader yet"}).events())
    (bar,) = [bar for bar in found.bars if bar.key == "etcd/bootstrap"]
    (wait,) = bar.waits
    assert (wait.begin, wait.end, wait.text) == (pytest.approx(38), pytest.approx(40), "no leader yet")
    assert [bar.key for bar, _ in found.longest_waits(1)] == ["node/w-1/config"]


def test_the_text_chart_is_to_scale() -> None:
    lines = as_text(timeline(Story(bring_up_plan()).events()), PLAIN, 110).splitlines()
    assert lines[0] == "up dev: done after 1 min 24 s, 19 steps, critical path 1 min 24 s (100%)"
    (line,) = [line for line in lines if "wait for the control plane" in line and "█" in line]
    ruler = lines[2]
    begin, end = ruler.index("0:00"), ruler.index("1:24")
    columns = end - begin
    assert line.index("█") - begin == pytest.approx(40 / 84 * columns, abs=1.5)
    assert line.rindex("█") - begin == pytest.approx(65 / 84 * columns, abs=1.5)
    assert all(len(line) <= 110 for line in lines)
    assert sum("█" in line for line in lines) == 6 + 1  # and the legend


def test_at_80_columns_titles_are_whole_and_reasons_are_wrapped() -> None:
    """A title is cut only where the chart would be too small to read."""
    reason = "waiting for the Kubernetes API at 10.0.0.10:6443: connection refused, 3 of 3 control planes tried"
    story = Story(bring_up_plan(), waits={"cluster/controlplane": reason}, fails={"machine/w-1": reason})
    text = as_text(timeline(story.events()), PLAIN, 80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    assert " ".join(text.split()).count(reason) == 2
    assert "after 38 s" in as_text(timeline(Story(bring_up_plan(), killed_at=38).events(), outcome="killed"), PLAIN)


def test_a_killed_run_has_a_timeline_too() -> None:
    found = timeline(Story(bring_up_plan(), killed_at=38).events())
    assert (found.outcome, found.seconds) == ("unfinished", pytest.approx(38))
    assert {bar.key for bar in found.bars if bar.fate == "unfinished"} == {"etcd/bootstrap"}
    assert found.path[-1] == "etcd/bootstrap"
    assert "cluster/health" in found.not_started
    assert "not started: 8 steps" in as_text(found, PLAIN)


def test_nothing_at_all_is_no_error() -> None:
    assert "no step was started" in as_text(timeline([]), PLAIN)
    assert "<svg" in as_html(timeline([]))


def test_the_page_stands_on_its_own_and_runs_nothing() -> None:
    text = as_html(timeline(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}).events()))
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "xlink:href")]
    assert "default-src 'none'" in text
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme:dark" in text


def test_every_step_has_a_bar_that_tells_about_it() -> None:
    found = timeline(Story(bring_up_plan()).events())
    page = Page(as_html(found))
    assert page.tags.count("g") == len(found.bars) == 19
    titles = "".join(page.text)
    assert all(bar.key in titles for bar in found.bars)
    assert titles.count("on the critical path") == 6
    classes = [value for name, value in page.attributes if name == "class"]
    assert classes.count("hot") == 6
    assert classes.count("path") >= 2  # from lane to lane


def test_bars_are_to_scale() -> None:
    found = timeline(Story(bring_up_plan()).events())
    text = as_html(found)
    widths = sorted({float(part.split('"')[0]) for part in text.split('width="')[1:] if 'class="hot"' in part[:80]})
    seconds = sorted({bar.seconds for bar in found.bars if bar.critical})
    assert [width / widths[-1] for width in widths] == [pytest.approx(one / seconds[-1], rel=0.02) for one in seconds]


def test_foreign_words_stay_words() -> None:
    plan = bring_up_plan(cluster=HOSTILE)
    events = [
        dataclasses.replace(event, subject=HOSTILE, text=HOSTILE)
        for event in Story(plan, fails={"machine/w-1": "x"}).events()
    ]
    first = events[0]
    steps = {key: {**one, "title": HOSTILE, "subject": HOSTILE} for key, one in first.data["plan"].items()}
    events[0] = dataclasses.replace(first, data={**first.data, "plan": steps, "operation": HOSTILE})
    found = timeline(events)
    html = as_html(found)
    assert is_tame(html)
    assert "script" not in Page(html).tags
    assert "owned" in html
    html.encode()
    text = as_text(found, PLAIN)
    assert "owned" in text
    assert is_tame(text)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    events = Story(bring_up_plan()).events()
    write_timeline(tmp_path / "timeline.html", events)
    assert (tmp_path / "timeline.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(Permanent, match=r"cannot write the timeline .*No such file"):
        write_timeline(tmp_path / "no" / "timeline.html", events)
