"""`talosmith runs` and `talosmith run show`, on journals written by the journal itself."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.engine import runner as engine
from talosmith.engine.folder import cluster_folder
from talosmith.engine.journal import Journal
from talosmith.events import Event, Events
from talosmith.report.progress import watching
from tests.unit.report.stories import HOSTILE, START, Act, Story, bring_up_plan, is_tame, key_of

Talosmith = Callable[..., tuple[int, str, str]]
INVENTORY = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Talosmith:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TALOSMITH_INVENTORY", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def record(events: list[Event], cluster: str = "dev", owner: str = "0123456789abcdef") -> Path:
    folder = cluster_folder(cluster, owner)
    with Journal(folder, write=True) as journal:
        for event in events:
            journal.listener(event)
    return folder


def test_without_any_run(talosmith: Talosmith) -> None:
    assert talosmith("runs") == (0, "no run was recorded here yet\n", "")
    code, _, err = talosmith("run", "show", "3")
    assert code == 64
    assert "there is no run 3" in err
    assert talosmith("run", "show")[0] == 64


def test_runs_of_one_cluster_in_their_order(talosmith: Talosmith) -> None:
    record(Story(bring_up_plan()).events())
    record(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}).events())
    record(Story(bring_up_plan(), killed_at=20).events())
    code, out, err = talosmith("runs")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["RUN", "OPERATION", "STARTED", "TOOK", "OUTCOME", "STEPS", "FAILED", "LEFT"]
    assert lines[1].split()[:2] == ["1", "up"]
    assert "2026-09-21 14:13:20 UTC  1 min 24 s  done" in lines[1]
    assert "failed" in lines[2]
    assert "unfinished" in lines[3]
    data = json.loads(talosmith("runs", "-o", "json")[1])
    assert [(one["run"], one["outcome"]) for one in data] == [(1, "done"), (2, "failed"), (3, "unfinished")]
    assert [one["run"] for one in json.loads(talosmith("runs", "-n", "1", "-o", "json")[1])] == [3]


def test_the_inventory_says_which_cluster(talosmith: Talosmith, tmp_path: Path) -> None:
    record(Story(bring_up_plan()).events())
    record(Story(bring_up_plan(cluster="prod")).events(), "prod")
    record(Story(bring_up_plan(cluster="dev-old")).events(), "dev-old")
    out = talosmith("runs")[1]
    assert all(name in out for name in ("dev/1", "prod/1", "dev-old/1"))
    (tmp_path / "here" / "cluster.yaml").write_text(INVENTORY, encoding="utf-8")
    assert [one["cluster"] for one in json.loads(talosmith("runs", "-o", "json")[1])] == ["dev"]
    assert len(json.loads(talosmith("runs", "--all", "-o", "json")[1])) == 3
    assert json.loads(talosmith("run", "show", "1", "-o", "json")[1])["cluster"] == "dev"
    assert json.loads(talosmith("run", "show", "prod/1", "-o", "json")[1])["cluster"] == "prod"


def test_a_run_of_the_engine_itself(talosmith: Talosmith) -> None:
    """What the runner tells and the journal keeps is what is shown."""
    made = bring_up_plan(3, 2)
    broken = Act(key_of("machine/w-1"), "w-1", "create its machine", refuses="no room left")
    steps = tuple(dataclasses.replace(one, action=broken) if one.key == broken.key else one for one in made)
    plan = dataclasses.replace(made, steps=steps)
    watched = io.StringIO()
    folder = cluster_folder("dev", "0123456789abcdef")

    async def go() -> None:
        with Journal(folder, write=True) as journal, watching(watched) as listener:
            await engine.run(plan, None, Events(journal.listener, listener))

    asyncio.run(go())
    data = json.loads(talosmith("run", "show", "-o", "json")[1])
    assert data["summary"]["outcome"] == data["outcome"] == "failed"
    assert [one["key"] for one in data["summary"]["failed"]] == ["machine/w-1"]
    assert [one["key"] for one in data["summary"]["left"]] == ["node/w-1/config", "node/w-1/joined", "cluster/health"]
    assert len(data["steps"]) == 16
    text = talosmith("run", "show")[1]
    assert "not done because of it: w-1 (apply its config), w-1 (wait until it is Ready), cluster" in text
    assert "fix: look at its console" in text
    assert "✗ w-1: create its machine: failed: no room left; fix: look at its console" in watched.getvalue()
    assert "failed after" in watched.getvalue().splitlines()[-1]


def test_a_run_that_could_be_several_is_asked_about(talosmith: Talosmith) -> None:
    record(Story(bring_up_plan()).events(), owner="a" * 16)
    record(Story(bring_up_plan()).events(), owner="b" * 16)
    code, _, err = talosmith("run", "show", "dev/1")
    assert code == 64
    assert "there is more than one run 1" in err
    assert f"dev-{'a' * 16}/1, dev-{'b' * 16}/1" in err
    assert talosmith("run", "show", f"dev-{'b' * 16}/1")[0] == 0


def test_show_a_run_as_text_page_and_data(talosmith: Talosmith, tmp_path: Path) -> None:
    record(Story(bring_up_plan()).events())
    record(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}).events())
    page = tmp_path / "run.html"
    code, out, err = talosmith("run", "show", "1", "--timeline", page)
    assert (code, err) == (0, f"written to {page}\n")
    assert out.startswith("up dev: done after 1 min 24 s, 19 steps run")
    assert "✓ up dev is done in 1 min 24 s: 19 steps" in out
    assert page.read_text(encoding="utf-8").count('<g class="bar">') == 19
    latest = talosmith("run", "show")[1]
    assert "✗ w-1: create its machine: no room left" in latest
    data = json.loads(talosmith("run", "show", "1", "-o", "json")[1])
    assert data["critical_path"][-1] == "cluster/health"
    assert data["summary"]["outcome"] == "done"


def test_all_that_was_told_can_be_had(talosmith: Talosmith) -> None:
    events = Story(bring_up_plan()).events()
    record(events)
    out = talosmith("run", "show", "1", "--events")[1]
    assert [Event(**json.loads(line)) for line in out.splitlines()] == events


@pytest.mark.parametrize("wanted", ["x", "1.5", "-1", "dev/", "dev/x", "²"])
def test_what_is_no_run(wanted: str, talosmith: Talosmith) -> None:
    record(Story(bring_up_plan()).events())
    code, out, _ = talosmith("run", "show", "--", wanted)
    assert (code, out) == (64, "")


def test_a_damaged_journal_does_not_hide_the_others(talosmith: Talosmith) -> None:
    record(Story(bring_up_plan()).events())
    folder = record(Story(bring_up_plan(cluster="prod")).events(), "prod")
    for file in folder.iterdir():
        if file.stat().st_size > 100:
            file.write_bytes(b"\0" * 50 + file.read_bytes()[50:-50])
    code, out, err = talosmith("runs", "-o", "json")
    assert code == 1
    assert [one["cluster"] for one in json.loads(out)] == ["dev"]
    assert "warning:" in err


def test_an_inventory_that_was_asked_for_must_be_good(talosmith: Talosmith, tmp_path: Path) -> None:
    record(Story(bring_up_plan()).events())
    assert talosmith("runs", "-i", tmp_path / "no")[0] != 0
    (tmp_path / "here" / "cluster.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    assert talosmith("runs", "-i", tmp_path / "here")[0] == 65
    assert talosmith("runs")[0] == 0  # what happened can be looked at all the same


def test_foreign_words_cannot_act_on_the_terminal(talosmith: Talosmith) -> None:
    warning = Event(kind="warning", at=START, text=HOSTILE)
    events = Story(bring_up_plan(cluster=HOSTILE), fails={"machine/w-1": HOSTILE}).events()
    record([warning, *events])
    for arguments in (["runs"], ["run", "show"], ["run", "show", "--events"]):
        out = talosmith(*arguments)[1]
        assert is_tame(out)
    assert "owned" in talosmith("run", "show")[1]
