"""Disks that are full, read-only or damaged: a clear word, an unharmed cluster, and a next run that goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lab.up.outcomes import converged
from tests.lab.up.places import UP, Ended, Here

pytestmark = pytest.mark.slow

FULL = "tests.lab.up.hooks:limit_files"
MOUNT = "tests.lab.up.hooks:mount"
NAMES = ["cp-1", "w-1"]


def is_clear(ended: Ended) -> None:
    assert ended.code in (1, 3), ended.said
    assert "Traceback" not in ended.said, ended.said
    assert "error:" in ended.err and "bug in talosmith" not in ended.said, ended.said


def test_no_file_can_grow_at_any_point_of_the_run(places: Callable[[], Here]) -> None:
    """From a disk on which the journal cannot begin to one that is full when the last file is written."""

    def one(size: int) -> bool:
        here = places()
        here.write(1, 1)
        ended = here.run(*UP, before=(FULL, {"size": size}))
        if ended.code == 0:
            return False
        is_clear(ended)
        assert any(word in ended.said for word in ("too large", "space", "full", "I/O error")), ended.said
        again = here.up()
        assert again.code == 0, (size, again.said)
        converged(here, NAMES)
        return True

    with ThreadPoolExecutor(3) as pool:
        failed = list(pool.map(one, [2048, 4096, 8192, 12_288, 16_384, 20_480, 28_672, 45_056, 61_440, 1_000_000]))
    assert failed[0] and not failed[-1] and sum(failed) >= 4, failed


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("size", [4, 24, 44, 64], ids="{}k".format)
def test_a_full_disk(here: Here, size: int) -> None:
    """A small file system for the state, which the next run does not have: as if the user had made room."""
    here.write(1, 1)
    folder = here.state / "talosmith" / "clusters"
    _ = here.env
    folder.mkdir(parents=True)
    ended = here.run(*UP, before=(MOUNT, {"kind": "tmpfs", "folder": str(folder), "options": f"size={size}k"}))
    is_clear(ended)
    assert "No space left" in ended.said or "full" in ended.said, ended.said
    assert here.up().code == 0
    converged(here, NAMES)


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="root may write everywhere, unless a mount keeps it from that")
def test_a_read_only_state_folder_changes_nothing(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    here.write(1, 2)
    before = here.calls()
    where = {"kind": "bind", "folder": str(here.state_folder), "options": ""}
    ended = here.run(*UP, before=(MOUNT, where))
    is_clear(ended)
    assert "Read-only" in ended.err and str(here.state_folder) in ended.err and "XDG_STATE_HOME" in ended.err
    made = {key for key in here.calls() if "machine.create" in key} - set(before)
    assert not made
    assert here.up().code == 0
    converged(here, [*NAMES, "w-2"])


@pytest.mark.parametrize("damage", ["flipped", "cut", "foreign", "emptied"])
def test_a_damaged_journal_is_told_and_the_run_goes_on_without_it(here: Here, damage: str) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    journal = here.state_folder / "journal.sqlite"
    _damage(journal, damage)
    here.write(1, 2)
    ended = here.up()
    assert "Traceback" not in ended.said
    if ended.code:  # it is not taken for an empty one: what to do is told
        is_clear(ended)
        assert str(journal) in ended.said and "w-2" not in here.machines()
        for part in here.state_folder.glob("journal*"):
            part.rename(here.root / part.name)
        assert here.up().code == 0
    converged(here, [*NAMES, "w-2"])


def _damage(journal: Path, how: str) -> None:
    for more in (journal.with_name("journal.sqlite-wal"), journal.with_name("journal.sqlite-shm")):
        more.unlink(missing_ok=True)
    content = bytearray(journal.read_bytes())
    if how == "flipped":
        for place in range(len(content) // 2, len(content), 97):
            content[place] ^= 0x5A
    elif how == "cut":
        del content[len(content) * 2 // 3 :]
    elif how == "foreign":
        content[:] = b"this is no journal at all\n" * 200
    else:
        content.clear()
    journal.write_bytes(content)
