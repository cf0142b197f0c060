"""Journals that were cut, flipped, killed or squeezed: damage is said, and never taken for emptiness."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import engine_process
import pytest
from engine_actions import Fake, plan_of, start
from engine_journals import content_of, put, record, recorded, told_by

from talosmith.engine import journal_store
from talosmith.engine.journal import Journal
from talosmith.engine.journal_store import JournalDamaged, JournalError, JournalTooNew
from talosmith.engine.runner import run
from talosmith.errors import ExitCode
from talosmith.events import Event, Events

pytestmark = pytest.mark.slow

PROCESS = Path(engine_process.__file__)
FILES = ["journal.sqlite", "journal.sqlite-wal", "journal.head"]
RUNS = [told_by(1), told_by(2)]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A journal of one whole run and half of another, whose writer was killed: part of it is in the log."""
    folder = tmp_path_factory.mktemp("killed")
    record(folder, RUNS[0])
    with Journal(folder, write=True) as journal:
        for event in RUNS[1][:5]:
            journal.listener(event)
        content = content_of(folder)
    assert sorted(content) == sorted(FILES)
    assert all(content.values())
    return content


def verdict(folder: Path, whole: list[list[Event]], *, write: bool = False) -> str:
    """`same`, `refused` or `less`; anything else is a failure."""
    try:
        with Journal(folder, write=write) as journal:
            found = [journal.events_of(one.number) for one in journal.runs()]
            lost = journal.lost
    except (JournalDamaged, JournalTooNew) as problem:
        assert problem.hint
        return "refused"
    if found == whole:
        assert lost == 0
        return "same"
    # Only what a power cut may take: the end of the last run, never its beginning, and it is counted.
    assert lost == sum(map(len, whole)) - sum(map(len, found)) > 0
    assert found[:-1] == whole[:-1]
    assert found[-1] == whole[-1][: len(found[-1])]
    return "less"


def places(size: int, count: int, seed: int) -> list[int]:
    """Some of all places, the first and the last bytes always among them."""
    edges = [*range(min(100, size)), *range(max(0, size - 32), size)]
    return sorted({*edges, *random.Random(seed).sample(range(size), min(count, size))})  # noqa: S311


@pytest.mark.parametrize("name", FILES)
def test_flipped_bits_are_noticed(name: str, killed: dict[str, bytes], tmp_path: Path) -> None:
    whole = [RUNS[0], RUNS[1][:5]]
    seen = {"same": 0, "refused": 0, "less": 0}
    for place in places(len(killed[name]), 200, 1):
        flipped = bytearray(killed[name])
        flipped[place] ^= 1 << place % 8
        seen[verdict(put(tmp_path / "it", {**killed, name: bytes(flipped)}), whole)] += 1
    if name == "journal.head":
        assert seen["same"] == seen["less"] == 0
    assert seen["refused"] + seen["less"] > 10


def test_flipped_bits_are_noticed_after_a_run_that_ended_well(tmp_path: Path) -> None:
    record(tmp_path / "good", RUNS[0])
    record(tmp_path / "good", RUNS[1])
    content = content_of(tmp_path / "good")
    seen = set()
    for place in places(len(content["journal.sqlite"]), 200, 2):
        flipped = bytearray(content["journal.sqlite"])
        flipped[place] ^= 1 << place % 8
        seen.add(verdict(put(tmp_path / "it", {**content, "journal.sqlite": bytes(flipped)}), RUNS))
    assert seen == {"same", "refused"}  # nothing may be missing any more


@pytest.mark.parametrize("name", FILES)
def test_cuts_are_noticed(name: str, killed: dict[str, bytes], tmp_path: Path) -> None:
    whole = [RUNS[0], RUNS[1][:5]]
    seen = set()
    for length in places(len(killed[name]), 150, 3):
        found = verdict(put(tmp_path / "it", {**killed, name: killed[name][:length]}), whole)
        # All of the database is in the log too, until that is written back: then SQLite needs only its first page.
        assert found != "same" or name == "journal.sqlite"
        seen.add(found)
    assert "refused" in seen


def test_cuts_are_noticed_after_a_run_that_ended_well(tmp_path: Path) -> None:
    record(tmp_path / "good", RUNS[0])
    content = content_of(tmp_path / "good")
    for length in places(len(content["journal.sqlite"]), 150, 4):
        cut = put(tmp_path / "it", {**content, "journal.sqlite": content["journal.sqlite"][:length]})
        assert verdict(cut, [RUNS[0]]) == "refused"
        with pytest.raises(JournalDamaged):  # and nobody writes on
            record(cut, RUNS[1])


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.head"])
@pytest.mark.parametrize("write", [True, False])
def test_a_missing_file_is_not_an_empty_journal(name: str, write: bool, tmp_path: Path) -> None:
    record(tmp_path)
    (tmp_path / name).unlink()
    before = content_of(tmp_path)
    with pytest.raises(JournalDamaged, match="missing") as caught:
        Journal(tmp_path, write=write)
    assert "move it: " in caught.value.hint
    assert content_of(tmp_path) == before


def test_the_hint_for_a_damaged_journal_works(tmp_path: Path) -> None:
    record(tmp_path)
    (tmp_path / "journal.sqlite").write_bytes(b"")
    with pytest.raises(JournalDamaged) as caught:
        Journal(tmp_path, write=True)
    command = caught.value.hint.rpartition("move it: ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    record(tmp_path)
    assert recorded(tmp_path) == [told_by(1)]


def test_what_a_power_cut_took_is_counted_and_the_next_run_is_written(
    killed: dict[str, bytes], tmp_path: Path
) -> None:
    log = killed["journal.sqlite-wal"]
    cut = put(tmp_path / "it", {**killed, "journal.sqlite-wal": log[:-100]})
    with Journal(cut, write=True) as journal:
        assert journal.lost == 1
        for event in RUNS[1]:
            journal.listener(event)
    with Journal(cut) as journal:
        assert journal.lost == 0
        assert [len(journal.events_of(one.number)) for one in journal.runs()] == [8, 4, 9]
        assert journal.events_of(3)[1].kind == "warning"
        assert "1 entry" in journal.events_of(3)[1].text


# kill -9


@pytest.mark.parametrize("moment", range(1, 9))
def test_killed_at_any_write_all_before_it_is_kept_and_the_next_run_ends_well(moment: int, tmp_path: Path) -> None:
    process = start(PROCESS, str(tmp_path), "plain", env={**os.environ, "KILL_AT": str(moment)})
    told = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == -signal.SIGKILL
    assert len(told) == moment
    with Journal(tmp_path) as journal:
        assert journal.lost == 0
        assert [f"{event.kind} {event.step}".strip() for event in journal.events_of(1)] == told
        assert journal.runs()[0].outcome == ("done" if moment == 8 else "")
    assert asyncio.run(engine_process.main(tmp_path, "plain")) == ExitCode.DONE
    with Journal(tmp_path) as journal:
        assert [one.outcome for one in journal.runs()] == [("done" if moment == 8 else ""), "done"]


def test_killed_between_any_two_steps_of_making_and_writing_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `kill -9` leaves is what is in the files at that moment; so they are copied at each."""
    moments: list[tuple[int, dict[str, bytes]]] = []
    heard = 0

    def watched(name: str) -> Callable[..., object]:
        real = getattr(journal_store, name)

        def call(*arguments: object, **more: object) -> object:
            moments.append((heard, content_of(tmp_path / "it")))
            result = real(*arguments, **more)
            moments.append((heard, content_of(tmp_path / "it")))
            return result

        return call

    (tmp_path / "it").mkdir()
    for name in ("create_head", "create_file", "write_head", "_prepared", "_entry_sum"):
        monkeypatch.setattr(journal_store, name, watched(name))
    with Journal(tmp_path / "it", write=True) as journal:
        for event in told_by(1):
            journal.listener(event)
            heard += 1
    monkeypatch.undo()
    assert len(moments) > 30
    for number, (kept, content) in enumerate(moments):
        folder = put(tmp_path / "copy", content)
        with Journal(folder) as journal:
            found = [journal.events_of(one.number) for one in journal.runs()]
            assert journal.lost == 0
        events = found[0] if found else []
        assert events in (told_by(1)[:kept], told_by(1)[: kept + 1]), number
        record(folder, told_by(2))
        assert recorded(folder)[-1] == told_by(2)


# Disks that are full, broken, or only to be read


@pytest.mark.parametrize("limit", [0, 64, 4000, 4096, 9000, 21_000, 30_000, 34_000, 42_000, 50_000])
def test_no_room_for_a_write_stops_the_run_in_time_and_breaks_nothing(limit: int, tmp_path: Path) -> None:
    """No file may grow past `limit`, so writes fail as on a full disk; small limits do not even let it begin."""
    process = start(
        PROCESS,
        str(tmp_path),
        "plain",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    told = process.communicate(timeout=120)[0].splitlines()
    if limit >= 50_000:
        assert process.returncode == ExitCode.DONE, told
    elif "step-started a" in told:
        assert process.returncode == ExitCode.RESUMABLE, told
        assert told[-1].startswith("problem cannot write the journal")
    else:
        assert process.returncode == ExitCode.FAILED, told
        assert told[-1].startswith("error cannot ")
        assert "free space" in told[-1]
    begun = [line for line in told if line.startswith("step-started")]
    assert asyncio.run(engine_process.main(tmp_path, "plain")) == ExitCode.DONE  # with room again
    runs = recorded(tmp_path)
    assert len(runs[-1]) == 8
    if len(runs) > 1:  # all that was begun was written down first
        kept = [f"{event.kind} {event.step}" for event in runs[0] if event.kind == "step-started"]
        assert begun[: len(kept)] == kept
        assert len(begun) <= len(kept) + 1


@pytest.mark.parametrize(
    ("pragma", "words"),
    [("max_page_count=4", "database or disk is full"), ("query_only=1", "attempt to write a readonly database")],
    ids=["full", "read-only"],
)
def test_a_disk_that_fails_in_the_middle_ends_the_run_at_a_safe_point(
    pragma: str, words: str, tmp_path: Path
) -> None:
    with Journal(tmp_path, write=True) as journal:
        actions = [Fake(f"s{one}" + "x" * 500) for one in range(50)]
        plan = plan_of(actions, {b.key: [a.key] for a, b in pairwise(actions)})

        def break_it(event: Event) -> None:
            if event.kind == "step-done" and event.step.startswith("s3x"):
                journal._store._db.execute(f"PRAGMA {pragma}")

        outcome = asyncio.run(run(plan, None, Events(journal.listener, break_it)))
    assert outcome.exit_code == ExitCode.RESUMABLE
    assert words in str(outcome.problem)
    assert "free space" in (outcome.problem.hint if outcome.problem else "")
    assert 4 <= len(outcome.done) < 50
    assert sum(action.runs for action in actions) == len(outcome.done)
    (kept,) = recorded(tmp_path)
    assert [event.step for event in kept if event.kind == "step-started"][: len(outcome.done)] == list(outcome.done)


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_head_that_cannot_be_written_is_an_error_and_the_journal_stays_whole(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    events = told_by(1)
    with Journal(tmp_path, write=True) as journal:
        for event in events[:-1]:
            journal.listener(event)
        with monkeypatch.context() as patch, pytest.raises(JournalError, match="Input/output error"):
            patch.setattr(os, call, fails)
            journal.listener(events[-1])
        with pytest.raises(JournalError, match="Input/output error"):  # no gap, even if it would work again
            journal.listener(events[-1])
    assert recorded(tmp_path) == [events]


DISK = """
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 99
mkdir "$2/state"
[ "$1" = 4m ] && mount -o remount,ro "$2"
"$3" "$4" "$2/state" plain; echo "ended $?"
mount -o remount,rw,size=4m "$2"
"$3" "$4" "$2/state" plain; echo "ended $?"
mount -o remount,ro "$2"
"$3" -c "$5" "$2/state"
"""
READ = """
import pathlib, sys
from talosmith.engine.journal import Journal
with Journal(pathlib.Path(sys.argv[1])) as journal:
    print("read", journal.runs()[-1].outcome, len(journal.events_of(len(journal.runs()))))
"""


@pytest.mark.real
@pytest.mark.parametrize("size", ["16k", "64k", "88k", "4m"])
def test_a_real_disk_that_is_full_or_read_only_breaks_nothing(size: str, tmp_path: Path) -> None:
    """4m: large enough, but read-only for the first run. Larger than 88k: there is room for all of the first run."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", DISK, "sh", size, str(tmp_path)]
    made = subprocess.run([*command, sys.executable, str(PROCESS), READ], capture_output=True, text=True, timeout=300)
    if "ended" not in made.stdout:
        pytest.skip(f"no disk can be made here: {made.stderr}")
    first, _, second = made.stdout.partition("ended ")
    words = "Read-only file system" if size == "4m" else "free space"
    if "step-started" in first:
        assert second[0] == "3", made.stdout
        assert "disk is full" in first
    else:
        assert second[0] == "1", made.stdout
        assert words in first
    assert made.stdout.endswith("run-finished\nended 0\nread done 8\n"), made.stdout
    assert made.stderr == ""
