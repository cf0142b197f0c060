"""One writer for each cluster: with real processes that hold, die, and are paused."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from engine_actions import start, told

from talosmith.engine import holder as holder_module
from talosmith.engine import lock as lock_module
from talosmith.engine.filesystem import is_local
from talosmith.engine.holder import Holder, boot_id, pid_namespace
from talosmith.engine.lock import ClusterLock, LockHeld, LockLost
from talosmith.errors import ExitCode, Permanent, TalosmithError, UsageError

PROCESS = Path(__file__).with_name("engine_lock_process.py")
UNSHARE = ("unshare", "--pid", "--fork", "--kill-child")
Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a process that takes the lock."""
    made: list[subprocess.Popen[str]] = []

    def begin(wait: float = 0.0, force: str = "", before: Sequence[str] = ()) -> subprocess.Popen[str]:
        made.append(start(PROCESS, str(tmp_path), str(wait), force, before=before))
        return made[-1]

    yield begin
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate()


def may_unshare() -> bool:
    program = shutil.which("unshare")
    return bool(program) and subprocess.run([program, *UNSHARE[1:], "true"], capture_output=True).returncode == 0


def ask(process: subprocess.Popen[str], what: str) -> str:
    assert process.stdin is not None
    process.stdin.write(what + "\n")
    process.stdin.flush()
    return told(process)


def writes(path: Path, holder: Holder) -> None:
    path.write_bytes(holder.to_bytes())


# Two at once


def test_the_second_is_told_who_where_since_when_and_what(tmp_path: Path, begin: Begin) -> None:
    first = begin()
    _, id_, serial, _ = told(first).split()
    assert serial == "1"
    second = begin()
    words = told(second)
    assert second.wait(120) == ExitCode.LOCK_HELD
    holder = ClusterLock(tmp_path, "").holder()
    assert holder is not None
    assert holder.pid == first.pid
    for part in (holder.user + "@" + holder.host, f"pid {first.pid}", "since 20", "test holder", id_):
        assert part in words
    assert ask(first, "check") == "ours"


def test_one_that_waits_says_for_whom_and_gets_it(begin: Begin) -> None:
    first = begin()
    assert told(first).startswith("held")
    second = begin(wait=600)
    assert told(second).startswith("waiting for ")
    assert ask(first, "release") == "released"
    assert told(second).split()[2:] == ["2", "-"]  # the next serial, and nobody was taken over from
    assert ask(second, "check") == "ours"
    assert ask(first, "check").startswith("LockLost")


def test_of_many_at_once_one_gets_it(begin: Begin) -> None:
    words = [told(process).split()[0] for process in [begin() for _ in range(5)]]
    assert sorted(words) == ["LockHeld"] * 4 + ["held"]


async def test_two_in_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    async with ClusterLock(tmp_path, "one").held():
        with pytest.raises(LockHeld):
            await ClusterLock(tmp_path, "two").acquire()
    async with ClusterLock(tmp_path, "three").held() as lock:
        lock.check()


async def test_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "demo"
    before = os.umask(0)
    try:
        async with ClusterLock(folder, "one").held():
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"lock": 0o600, "lock.guard": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


# Dead holders


def test_a_killed_holder_is_taken_over_from_with_a_word(begin: Begin) -> None:
    first = begin()
    assert told(first).startswith("held")
    first.kill()
    first.wait()
    assert told(begin()).split()[2:] == ["2", str(first.pid)]


def test_a_child_of_the_holder_does_not_keep_the_lock(tmp_path: Path) -> None:
    async def hold() -> subprocess.Popen[bytes]:
        async with ClusterLock(tmp_path, "one").held():
            return subprocess.Popen(["sleep", "600"], close_fds=False)

    child = asyncio.run(hold())
    try:
        lock = ClusterLock(tmp_path, "two")
        asyncio.run(lock.acquire())
        lock.release()
    finally:
        child.kill()
        child.wait()


async def stale(folder: Path, **changes: object) -> Holder:
    """A lock whose holder went without a word, as found in the file."""
    lock = ClusterLock(folder, "gone")
    await lock.acquire()
    assert lock.mine is not None
    left = replace(lock.mine, **changes)  # type: ignore[arg-type]
    lock.release()
    writes(lock.path, left)
    return left


async def test_another_hosts_lock_is_never_broken_silently(tmp_path: Path) -> None:
    left = await stale(tmp_path, host="elsewhere", boot="00000000-0000-0000-0000-000000000000")
    with pytest.raises(LockHeld, match="elsewhere") as caught:
        await ClusterLock(tmp_path, "two").acquire()
    assert f"--force-unlock {left.id}" in caught.value.hint
    assert caught.value.exit_code == ExitCode.LOCK_HELD
    assert ClusterLock(tmp_path, "").holder() == left
    lock = ClusterLock(tmp_path, "two")
    await lock.acquire(force=left.id)
    lock.check()
    assert lock.took_from == left
    assert lock.mine is not None
    assert lock.mine.serial == left.serial + 1
    lock.release()


@pytest.mark.parametrize("local", [True, False])
async def test_after_a_reboot_of_this_machine_only_a_disk_of_its_own_is_proof(
    local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stale(tmp_path, boot="00000000-0000-0000-0000-000000000000")
    monkeypatch.setattr(lock_module, "is_local", lambda folder: local)
    lock = ClusterLock(tmp_path, "two")
    if local:
        await lock.acquire()
        lock.release()
    else:
        with pytest.raises(LockHeld):
            await lock.acquire()


async def test_a_pid_that_is_somebody_elses_by_now_is_nobody(tmp_path: Path) -> None:
    left = await stale(tmp_path, pid=os.getpid(), started=1)
    assert left.life == "is gone"
    assert replace(left, pid=os.getpid(), started=Holder.myself("", 1, "").started).life == "runs"


# Containers: the kernel and the host's name may be the same, pids are not


OTHERS = {"another": "pid:[1]", "not known": ""}


def of_an_earlier_version(path: Path) -> None:
    """The lock as it was written before there was a namespace in it."""
    content = json.loads(path.read_bytes())
    del content["sum"], content["namespace"]
    path.write_bytes(json.dumps({**content, "sum": holder_module._sum(content)}, indent=1).encode() + b"\n")


@pytest.mark.parametrize("namespace", OTHERS)
async def test_a_holder_in_another_pid_namespace_is_never_called_dead(namespace: str, tmp_path: Path) -> None:
    async with ClusterLock(tmp_path, "one").held() as lock:
        assert lock.mine is not None and lock.mine.namespace == pid_namespace()
        # Its pid is nobody's here, or somebody else's, as it is when a container counts from 1.
        seen = replace(lock.mine, namespace=OTHERS[namespace], pid=1, started=1)
        assert seen.life == "cannot be seen from here"
        writes(lock.path, seen)  # the same file, so the kernel's lock stays
        with pytest.raises(LockHeld) as caught:
            await ClusterLock(tmp_path, "two").acquire()
    assert "is gone" not in caught.value.hint
    assert "in another PID namespace (container)" in caught.value.hint
    assert f"--force-unlock {seen.id}" in caught.value.hint


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("namespace", OTHERS)
async def test_a_free_lock_of_another_pid_namespace_is_proof_on_a_local_disk_only(
    namespace: str, local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = await stale(tmp_path, namespace=OTHERS[namespace])
    monkeypatch.setattr(lock_module, "is_local", lambda folder: local)
    lock = ClusterLock(tmp_path, "two")
    if local:
        await lock.acquire()
        assert lock.took_from == left
        lock.release()
        return
    with pytest.raises(LockHeld, match="is unknown from here") as caught:
        await lock.acquire()
    assert f"--force-unlock {left.id}" in caught.value.hint


async def test_a_lock_of_an_earlier_version_is_understood(tmp_path: Path) -> None:
    left = await stale(tmp_path)
    of_an_earlier_version(tmp_path / "lock")
    lock = ClusterLock(tmp_path, "two")
    found = lock.holder()
    assert found == replace(left, namespace="")
    assert found.life == "cannot be seen from here"
    await lock.acquire(force=left.id)
    lock.release()


@pytest.mark.real
@pytest.mark.skipif(not may_unshare(), reason="needs the right to make a PID namespace")
@pytest.mark.parametrize("more", [(), ("--mount-proc",)], ids=["the host's proc", "a proc of its own"])
def test_a_process_in_a_pid_namespace_of_its_own(more: tuple[str, ...], begin: Begin) -> None:
    inside = begin(before=(*UNSHARE, *more))
    id_ = told(inside).split()[1]
    words = told(begin())
    assert words.startswith("LockHeld") and "pid 1," in words
    assert "is gone" not in words and f"--force-unlock {id_}" in words
    inside.kill()
    inside.wait()
    again = begin(wait=600)  # --kill-child ends what is inside
    while (words := told(again)).startswith("waiting for "):
        pass
    assert words.split()[2:] == ["2", "1"]


def test_local_disks_are_told_from_shared_ones() -> None:
    assert is_local(Path("/dev/shm"))  # noqa: S108
    assert not is_local(Path("/proc"))
    assert boot_id()


# Force


@pytest.mark.parametrize("held", [True, False])
async def test_force_needs_the_id_of_the_lock_as_it_is_now(held: bool, tmp_path: Path) -> None:
    first = ClusterLock(tmp_path, "one")
    await first.acquire()
    if not held:
        first.release()
    with pytest.raises(UsageError, match="no lock has the id 0badc0de") as caught:
        await ClusterLock(tmp_path, "two").acquire(force="0badc0de")
    assert ("one" in str(caught.value)) == held
    if held:
        first.check()
        first.release()


def test_a_paused_holder_whose_lock_was_taken_over_cannot_write(tmp_path: Path, begin: Begin) -> None:
    first = begin()
    id_ = told(first).split()[1]
    os.kill(first.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)
    refused = begin()
    words = told(refused)
    assert words.startswith("LockHeld")
    assert f"--force-unlock {id_}" in words
    assert f"kill -CONT {first.pid}" in words
    second = begin(force=id_)
    assert told(second).split()[2:] == ["2", str(first.pid)]
    os.kill(first.pid, signal.SIGCONT)
    lost = ask(first, "check")
    assert lost.startswith("LockLost")
    assert f"pid {second.pid}" in lost
    assert "serial 2, ours was 1" in lost
    # Its goodbye does not harm the new holder either.
    assert ask(first, "release") == "released"
    assert ask(second, "check") == "ours"
    assert told(begin()).startswith("LockHeld")


# Damage


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"id": 1}'], ids=range(6))
async def test_a_damaged_lock_is_not_taken_for_a_free_one(content: bytes, tmp_path: Path) -> None:
    async with ClusterLock(tmp_path, "one").held() as lock:
        lock.path.write_bytes(content)
        with pytest.raises(LockLost):
            lock.check()
    lock.path.write_bytes(content)
    with pytest.raises(Permanent, match="damaged") as caught:
        await ClusterLock(tmp_path, "two").acquire()
    assert "delete this file" in caught.value.hint


async def test_every_cut_of_a_lock_is_noticed(tmp_path: Path) -> None:
    await stale(tmp_path)
    whole = (tmp_path / "lock").read_bytes()
    for length in range(len(whole) - 1):  # the last byte is a line's end
        (tmp_path / "lock").write_bytes(whole[:length])
        with pytest.raises(Permanent, match="damaged"):
            ClusterLock(tmp_path, "two").holder()


async def test_every_flipped_bit_of_a_lock_is_noticed(tmp_path: Path) -> None:
    left = await stale(tmp_path)
    whole = (tmp_path / "lock").read_bytes()
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        (tmp_path / "lock").write_bytes(flipped)
        try:
            assert ClusterLock(tmp_path, "two").holder() == left  # white space
        except Permanent as problem:
            assert "damaged" in str(problem)


async def test_a_lock_file_that_was_removed_is_lost(tmp_path: Path) -> None:
    async with ClusterLock(tmp_path, "one").held() as lock:
        lock.path.unlink()
        with pytest.raises(LockLost, match="No such file"):
            lock.check()
        async with ClusterLock(tmp_path, "two").held():
            with pytest.raises(LockLost, match="two"):
                lock.check()


async def test_without_a_lock_nothing_may_be_written(tmp_path: Path) -> None:
    with pytest.raises(LockLost):
        ClusterLock(tmp_path, "one").check()


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=["full", "broken", "read-only"])
async def test_trouble_with_the_disk_is_told_and_the_old_lock_stays(
    call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = await stale(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fails)
        with pytest.raises(Permanent, match=os.strerror(code)) as caught:
            await ClusterLock(tmp_path, "two").acquire()
    assert "free space" in caught.value.hint
    assert ClusterLock(tmp_path, "").holder() == left
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "lock.guard"]


async def test_a_disk_that_cannot_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(Permanent, match="No locks available") as caught:
        await ClusterLock(tmp_path, "one").acquire()
    assert "XDG_STATE_HOME" in caught.value.hint


async def test_one_killed_while_taking_it_leaves_no_rubbish_for_ever(tmp_path: Path) -> None:
    (tmp_path / ".lock.0123456789abcdef.tmp").write_bytes(b"half")
    async with ClusterLock(tmp_path, "one").held():
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "lock.guard"]


async def test_one_stuck_while_taking_it_does_not_make_others_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_GUARD_WAIT", 0.05)
    with (tmp_path / "lock.guard").open("wb") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        with pytest.raises(TalosmithError, match="has been acquiring the cluster's lock"):
            await ClusterLock(tmp_path, "one").acquire()


async def test_what_is_written_down_is_plain_and_complete(tmp_path: Path) -> None:
    async with ClusterLock(tmp_path, "talosmith up").held() as lock:
        content = json.loads(lock.path.read_bytes())
    assert content["command"] == "talosmith up"
    assert (content["pid"], content["boot"], content["serial"]) == (os.getpid(), boot_id(), 1)
    assert json.loads(lock.path.read_bytes())["released"] is True
