"""The journal: what is written down, what is read back, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest
from engine_journals import MANY, lines_of, record, recorded, told_by

from talosmith.engine import journal_store
from talosmith.engine.folder import cluster_folder
from talosmith.engine.journal import Journal
from talosmith.engine.journal_store import JournalError, JournalTooNew
from talosmith.errors import Permanent, UsageError
from talosmith.events import Event
from talosmith.model.secret import Secret

CORPUS = Path(__file__).with_name("journals")


def step(kind: str, key: str, at: float, subject: str = "", **data: object) -> Event:
    return Event(kind=kind, at=at, step=key, subject=subject, data=data)  # type: ignore[arg-type]


def test_what_was_told_is_read_back(tmp_path: Path) -> None:
    record(tmp_path)
    record(tmp_path)
    with Journal(tmp_path) as journal:
        assert journal.events_of(1) == told_by(1)
        assert journal.events_of(2) == told_by(1)
        first, second = journal.runs()
    assert (first.number, second.number) == (1, 2)
    assert first.id != second.id, "also where the journal has no id, as those of earlier versions"
    assert first.id.startswith(time.strftime("%Y%m%d-%H%M-", time.localtime(first.started)))
    assert (first.operation, first.cluster, first.outcome, first.steps) == ("up", "demo", "stopped", 3)
    assert (first.done, first.failed, first.left) == (2, 0, 1)
    assert (first.started, first.finished) == (told_by(1)[0].at, told_by(1)[-1].at)


def test_a_run_has_the_id_and_the_folder_it_was_started_with(tmp_path: Path) -> None:
    first, *rest = told_by(1)
    labels = {"run": "20261116-2324-7f3a", "folder": "/clusters/home"}
    with Journal(tmp_path, write=True) as journal:
        for event in (dataclasses.replace(first, data={**first.data, **labels}), *rest):
            journal.listener(event)
        (run,) = journal.runs()
    assert (run.id, run.folder, run.cluster) == ("20261116-2324-7f3a", "/clusters/home", "demo")


def test_only_the_events_after_those_already_seen_are_read(tmp_path: Path) -> None:
    events = told_by(1)
    with Journal(tmp_path, write=True) as writer, Journal(tmp_path) as follower:
        for number, event in enumerate(events, 1):
            writer.listener(event)
            assert follower.events_of(1, after=number - 1) == [event]
            assert follower.events_of(1, after=number) == []


def test_a_run_that_goes_on_can_be_read_and_has_no_end(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as writer:
        for event in told_by(1)[:4]:
            writer.listener(event)
            with Journal(tmp_path) as journal:
                assert journal.events_of(1)[-1] == event
        with Journal(tmp_path) as journal:
            (run,) = journal.runs()
    assert (run.outcome, run.finished, run.steps) == ("", None, 3)


def test_what_came_before_and_after_a_run_belongs_to_it(tmp_path: Path) -> None:
    early, late = (Event(kind="note", at=at, text="hello") for at in (1.0, 9e9))
    with Journal(tmp_path, write=True) as journal:
        assert journal.run == 0
        for event in (early, *told_by(1), late):
            journal.listener(event)
        assert journal.run == 1
        assert journal.events_of(1) == [told_by(1)[0], early, *told_by(1)[1:], late]
        assert journal.runs()[0].outcome == "stopped"


def test_a_journal_that_was_never_written_is_empty_and_reading_makes_none(tmp_path: Path) -> None:
    with Journal(tmp_path / "none") as journal:
        assert journal.runs() == []
        assert journal.expected("demo") == {}
        with pytest.raises(UsageError, match="run 1 does not exist"):
            journal.events_of(1)
    assert list(tmp_path.iterdir()) == []


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Journal(tmp_path / "a" / "b", write=True) as journal:
            for event in told_by(1):
                journal.listener(event)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a" / "b").iterdir()}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert {"journal.sqlite", "journal.head", "journal.sqlite-wal"} <= modes.keys()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_objects_in_events_are_written_as_they_print(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.listener(told_by(1)[0])
        journal.listener(Event(kind="note", at=1.0, text="\udce4 odd \x00 text", data={"key": Secret("hunter2")}))
        assert journal.events_of(1)[-1].data == {"key": "***"}
        assert journal.events_of(1)[-1].text == "\udce4 odd \x00 text"
    assert b"hunter2" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_second_writer_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    events = told_by(1)
    with Journal(tmp_path, write=True) as old, Journal(tmp_path, write=True) as new:
        old.listener(events[0])
        old.listener(events[1])
        with pytest.raises(JournalError, match="another process writes"):
            new.listener(events[0])
        with pytest.raises(JournalError, match="another process writes"):
            new.listener(events[1])
        for event in events[2:]:
            old.listener(event)
    assert recorded(tmp_path) == [events]


# Expected times


def test_expected_times_are_medians_by_kind_of_step(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        for run, seconds in enumerate((10.0, 500.0, 12.0)):
            at = 1000.0 * run
            journal.listener(
                Event(kind="run-started", at=at, data={"operation": "up", "cluster": "demo", "plan": {}})
            )
            for node, more in (("cp-1", 0.0), ("w-1", 1.0)):
                key = f"node/{node}/config"
                journal.listener(step("step-started", key, at, node))
                journal.listener(step("step-done", key, at + seconds + more, node, changed=True))
            journal.listener(step("step-started", "etcd/bootstrap", at))
            journal.listener(step("step-done", "etcd/bootstrap", at, changed=False))  # nothing was to be done
            journal.listener(step("step-started", "cluster/health", at))
            journal.listener(step("step-done", "cluster/health", at - 60, changed=True))  # the clock was set back
        assert journal.expected("demo") == {"node/config": 12.5}
        assert journal.expected("another") == {}


# Versions


def test_a_journal_of_a_later_version_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    record(tmp_path)
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    before = (tmp_path / "journal.sqlite").read_bytes()
    for write in (True, False):
        with pytest.raises(JournalTooNew, match="schema 99; this one knows 1") as caught:
            Journal(tmp_path, write=write)
        assert "newer" in caught.value.hint
    assert (tmp_path / "journal.sqlite").read_bytes() == before


@pytest.mark.parametrize("schema", sorted(path.name for path in CORPUS.iterdir()))
@pytest.mark.parametrize("write", [True, False])
def test_journals_of_all_versions_are_read(schema: str, write: bool, tmp_path: Path) -> None:
    for path in (CORPUS / schema).iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    expected = json.loads((tmp_path / "told.json").read_bytes())
    with Journal(tmp_path, write=write) as journal:
        assert [[lines_of(event) for event in journal.events_of(run.number)] for run in journal.runs()] == expected


@pytest.mark.parametrize("write", [True, False])
def test_an_older_journal_is_brought_up_to_date_once(
    write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path)
    called: list[int] = []

    def add_something(db: sqlite3.Connection) -> None:
        called.append(1)
        db.execute("CREATE TABLE something (id INTEGER PRIMARY KEY)")

    monkeypatch.setattr(journal_store, "MIGRATIONS", (add_something,))
    for _ in range(2):
        with Journal(tmp_path, write=write) as journal:
            assert journal.events_of(1) == told_by(1)
    assert called == [1]
    monkeypatch.undo()
    with pytest.raises(JournalTooNew):
        Journal(tmp_path)


def test_a_change_of_version_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path)

    def breaks(db: sqlite3.Connection) -> None:
        db.execute("DROP TABLE entry")
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(journal_store, "MIGRATIONS", (breaks,))
    with pytest.raises(JournalError):
        Journal(tmp_path, write=True)
    monkeypatch.undo()
    assert recorded(tmp_path) == [told_by(1)]


# Folders


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a\nb", "a\x00"])
def test_a_clusters_folder_cannot_be_elsewhere(name: str) -> None:
    with pytest.raises(Permanent):
        cluster_folder(name, "0123456789abcdef")


def test_a_clusters_folder_is_in_the_users_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cluster_folder("demo", "01ab") == tmp_path / "talosmith" / "clusters" / "demo-01ab"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cluster_folder("demo", "01ab") == tmp_path / ".local/state/talosmith/clusters/demo-01ab"


def test_a_run_too_long_for_the_log_alone_is_kept_whole(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.listener(told_by(1)[0])
        for _ in range(MANY):
            journal.listener(told_by(1)[1])
        assert len(journal.events_of(1)) == MANY + 1
