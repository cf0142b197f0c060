"""`talosmith runs` and `talosmith run show`, on journals written by the journal itself."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import SECRETS_FILE, create_secrets
from talosmith.desired.target import owner_of
from talosmith.engine import runner as engine
from talosmith.engine.folder import cluster_folder
from talosmith.engine.journal import Journal
from talosmith.engine.lock import ClusterLock
from talosmith.events import Event, Events
from talosmith.inventory import load
from talosmith.report import runs as report_runs
from talosmith.report.progress import watching
from tests.output_schemas import assert_valid
from tests.unit.report.stories import HOSTILE, START, Act, Story, bring_up_plan, is_tame, key_of

Talosmith = Callable[..., tuple[int, str, str]]
Patch = pytest.MonkeyPatch
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


def ids(talosmith: Talosmith, *arguments: object) -> list[str]:
    return [one["run"] for one in json.loads(talosmith("runs", *arguments, "-o", "json")[1])["runs"]]


def labelled(events: list[Event], **labels: str) -> list[Event]:
    """As the session records them: with an id of the run and the inventory's folder."""
    first, *rest = events
    return [dataclasses.replace(first, data={**labels, **first.data}), *rest]


def test_without_any_run(talosmith: Talosmith) -> None:
    assert talosmith("runs") == (0, "no run is recorded\n", "")
    code, _, err = talosmith("run", "show", "7f3a")
    assert code == 64
    assert "run '7f3a' does not exist" in err
    assert talosmith("run", "show")[0] == 64
    assert talosmith("run", "show", "--last")[0] == 64


def test_runs_of_one_cluster_in_their_order(talosmith: Talosmith) -> None:
    record(Story(bring_up_plan()).events())
    record(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}).events())
    record(Story(bring_up_plan(), killed_at=20).events())
    code, out, err = talosmith("runs")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["RUN", "CLUSTER", "OPERATION", "OUTCOME", "TOOK"]
    assert lines[1].split() == [ids(talosmith)[0], "dev", "up", "done", "1", "min", "24", "s"]
    assert "failed" in lines[2]
    assert "killed" in lines[3]
    data = json.loads(talosmith("runs", "-o", "json")[1])["runs"]
    assert [one["outcome"] for one in data] == ["done", "failed", "killed"]
    assert (data[0]["started"], data[0]["finished"]) == ("2026-09-21T14:13:20Z", "2026-09-21T14:14:44Z")
    assert data[2]["finished"] is None
    assert ids(talosmith, "--limit", "1") == [data[2]["run"]]
    assert len({one["run"] for one in data}) == 3


def test_the_inventory_says_which_cluster(talosmith: Talosmith, tmp_path: Path, monkeypatch: Patch) -> None:
    """Two clusters of one name in different folders have different ids, and their runs do not mix."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = [tmp_path / "here", tmp_path / "there"]
    whole = Bundle.generate(contract=(1, 13))
    bundles = [whole, dataclasses.replace(whole, cluster_id=base64.urlsafe_b64encode(b"b" * 32).decode())]
    for folder, bundle, run_id in zip(folders, bundles, ("20261116-2324-aaaa", "20261116-2324-bbbb"), strict=True):
        folder.mkdir(exist_ok=True)
        (folder / "cluster.yaml").write_text(INVENTORY, encoding="utf-8")
        create_secrets(folder, bundle)
        owner = owner_of(load(folder), bundle)
        record(labelled(Story(bring_up_plan()).events(), run=run_id, folder=str(folder)), owner=owner.id)
    record(Story(bring_up_plan(cluster="prod")).events(), "prod")
    assert ids(talosmith) == ["20261116-2324-aaaa"]
    assert ids(talosmith, "-i", folders[1]) == ["20261116-2324-bbbb"]
    assert len(ids(talosmith, "--all")) == 3
    shown = json.loads(talosmith("run", "show", "bbbb", "-o", "json")[1])
    assert (shown["cluster"], shown["folder"], shown["outcome"]) == ("dev", str(folders[1]), "done")
    assert json.loads(talosmith("run", "show", "--last", "-o", "json")[1])["run"] == "20261116-2324-aaaa"
    monkeypatch.setenv("COLUMNS", "80")
    lines = talosmith("runs", "--all")[1].splitlines()
    assert lines[0].split() == ["RUN", "CLUSTER", "OPERATION", "OUTCOME", "TOOK", "FOLDER"]
    assert sorted(line.split()[-1] for line in lines[1:] if "dev" in line) == ["~/here", "~/there"]
    alone = talosmith("runs")[1].splitlines()
    assert alone[0].split() == ["RUN", "OPERATION", "STARTED", "TOOK", "OUTCOME", "STEPS"]
    assert alone[1].split()[-2:] == ["done", "19/19"]
    assert all(len(line) <= 80 for line in (*lines, *alone))
    (folders[0] / SECRETS_FILE).unlink()
    assert talosmith("runs") == (0, "no run is recorded\n", "")


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
    assert "skipped (depends on it): w-1 (apply its config), w-1 (wait until it is Ready), cluster" in text
    assert "fix: look at its console" in text
    assert "✗ w-1: create its machine: failed: no room left; fix: look at its console" in watched.getvalue()
    assert "failed after" in watched.getvalue().splitlines()[-1]


def test_a_part_of_an_id_that_several_runs_have_is_refused(talosmith: Talosmith) -> None:
    for run_id in ("20261116-2324-aaaa", "20261116-2324-bbbb"):
        record(labelled(Story(bring_up_plan()).events(), run=run_id))
    code, _, err = talosmith("run", "show", "20261116")
    assert code == 64
    assert "2 runs match '20261116'" in err
    assert "20261116-2324-aaaa, 20261116-2324-bbbb" in err
    assert talosmith("run", "show", "bbbb")[0] == 0
    assert talosmith("run", "show", "bbbb", "--last")[0] == 64


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (Story(bring_up_plan()), 0),
        (Story(bring_up_plan(), fails={"machine/w-1": "no room left"}), 1),
        (Story(bring_up_plan(), killed_at=20), 3),
    ],
    ids=["done", "failed", "killed"],
)
def test_a_run_that_has_ended_is_followed_to_its_end(story: Story, code: int, talosmith: Talosmith) -> None:
    """The exit code is the run's; a killed run can be resumed."""
    record(story.events())
    got, out, err = talosmith("run", "show", "--last", "--follow")
    assert got == code
    assert "up dev: 19 steps, started" in err
    assert out.count("up dev") == 1
    got, out, _ = talosmith("run", "show", "--follow", "-o", "json")
    assert (got, [json.loads(line)["type"] for line in out.splitlines()][:1]) == (code, ["run-started"])


def test_the_exit_code_that_a_run_recorded_is_the_one_of_who_follows(talosmith: Talosmith) -> None:
    events = Story(bring_up_plan()).events()
    last = dataclasses.replace(events[-1], data={**events[-1].data, "outcome": "failed", "exit_code": 5})
    record([*events[:-1], last])
    assert talosmith("run", "show", "-f")[0] == 5


async def test_a_run_whose_process_holds_the_lock_is_running(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = cluster_folder("dev", "0123456789abcdef")
    async with ClusterLock(folder, "up").held():
        story = Story(bring_up_plan(), killed_at=20).events()
        record([dataclasses.replace(one, at=one.at - START + time.time()) for one in story])
        (run,), _ = report_runs.recorded(folder)
        assert run.outcome == "running"
    (run,), _ = report_runs.recorded(folder)
    assert run.outcome == "killed"
    async with ClusterLock(folder, "up").held():  # another command, which has not started a run yet
        assert [one.outcome for one in report_runs.recorded(folder)[0]] == ["killed"]


def test_show_a_run_as_text_page_and_data(talosmith: Talosmith, tmp_path: Path) -> None:
    record(Story(bring_up_plan()).events())
    record(Story(bring_up_plan(), fails={"machine/w-1": "no room left"}).events())
    page = tmp_path / "run.html"
    code, out, err = talosmith("run", "show", ids(talosmith)[0], "--timeline", page)
    assert (code, err) == (0, f"wrote {page}\n")
    headline, chart = out.splitlines()[:2]
    assert headline.startswith(f"run {ids(talosmith)[0]}: up dev, done, started 2026-09-21 ")
    assert chart.startswith("up dev: done after 1 min 24 s, 19 steps, critical path")
    assert "✓ up dev done in 1 min 24 s: 19 steps" in out
    assert page.read_text(encoding="utf-8").count('<g class="bar">') == 19
    latest = talosmith("run", "show")[1]
    assert "✗ w-1: create its machine: no room left" in latest
    data = json.loads(talosmith("run", "show", ids(talosmith)[0], "-o", "json")[1])
    assert data["critical_path"][-1] == "cluster/health"
    assert data["summary"]["outcome"] == "done"


def test_all_that_was_told_can_be_had(talosmith: Talosmith) -> None:
    events = Story(bring_up_plan()).events()
    record(events)
    out = talosmith("run", "show", "--events")[1]
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["type"], one["step"]) for one in found] == [(one.kind, one.step or None) for one in events]
    for one in found:
        assert_valid(one)


@pytest.mark.parametrize("wanted", ["x", "1.5", "-1", "dev/", "dev/x", "²", "2026 "])
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
    assert [one["cluster"] for one in json.loads(out)["runs"]] == ["dev"]
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
