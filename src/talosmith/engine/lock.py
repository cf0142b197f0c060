"""One writer for each cluster.

The lock is a file that names its holder and that the holder keeps locked in the kernel (flock). To acquire the lock,
a process replaces the file with a new one, with the next serial, locked before it is visible. So

- the lock of a holder that was killed is known by its unlocked file, and is taken over with a message;
- that proof holds for the same kernel and PID namespace, and on a local disk for another container of the same kernel
  and after a reboot of the same machine. The lock of any other holder is only taken over if the user names its id;
- a holder that was paused while its lock was taken over finds another file in place of its own, at `check`, and
  stops writing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from talosmith.engine.filesystem import is_local
from talosmith.engine.folder import make_folder
from talosmith.engine.holder import Holder
from talosmith.errors import ExitCode, Permanent, TalosmithError, UsageError
from talosmith.files import replace_and_keep
from talosmith.waiting import now

Liveness = Literal["alive", "dead", "unknown"]

_LOOK_AGAIN = 0.25  # seconds
_GUARD_WAIT = 30.0  # the process that acquires the lock waits for a disk, which may be busy
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class LockHeld(TalosmithError):
    """Another process holds the cluster's lock, or may hold it."""

    exit_code = ExitCode.LOCK_HELD

    def __init__(self, what: str, holder: Holder, *, hint: str) -> None:
        super().__init__(what, hint=hint)
        self.holder = holder


class LockLost(TalosmithError):
    """Another process has taken over the lock; nothing may be changed any more."""

    exit_code = ExitCode.LOCK_HELD


class ClusterLock:
    """The lock in `folder`, to be held by `command`. `took_from` is the dead or forced-out holder before."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder = folder
        self.path = folder / "lock"
        self.command = command
        self.took_from: Holder | None = None
        self._mine: Holder | None = None
        self._written = b""
        self._descriptor = -1

    @property
    def mine(self) -> Holder | None:
        """This process as the holder, while it holds the lock."""
        return self._mine

    def holder(self) -> Holder | None:
        """The holder that the file names, dead or alive; None if the lock was released."""
        found = self._read()
        return None if found is None or found.released else found

    @asynccontextmanager
    async def held(
        self, *, wait: float = 0.0, force: str = "", waiting: Callable[[Holder], None] = lambda holder: None
    ) -> AsyncIterator[ClusterLock]:
        await self.acquire(wait=wait, force=force, waiting=waiting)
        try:
            yield self
        finally:
            self.release()

    async def acquire(
        self, *, wait: float = 0.0, force: str = "", waiting: Callable[[Holder], None] = lambda holder: None
    ) -> None:
        """Acquire the lock, or raise `LockHeld` after `wait` seconds; `waiting` is called once for each holder.

        `force` is the id of a lock that is taken over even if its holder is alive.
        """
        make_folder(self.folder)
        end = now() + wait
        reported = ""
        while True:
            try:
                async with self._guard():
                    self._take(force)
                return
            except LockHeld as held:
                if force or now() >= end:
                    raise
                if reported != held.holder.id:
                    reported = held.holder.id
                    waiting(held.holder)
            await asyncio.sleep(min(_LOOK_AGAIN, max(0.0, end - now())))

    def check(self) -> None:
        """Called before each change: raises `LockLost` unless this process still holds the lock."""
        if self._mine is None:
            raise LockLost("the cluster's lock is not held", hint="run the command again")
        try:
            there = _content(self.path)
        except OSError as problem:
            raise LockLost(
                f"the cluster's lock cannot be read any more: {problem.strerror or problem}",
                hint=f"nothing more was changed; check {self.path} and run the command again",
            ) from None
        if there == self._written:
            return
        try:
            other = Holder.from_bytes(there)
        except ValueError:
            raise LockLost(f"the cluster's lock was overwritten with something else: {self.path}") from None
        raise LockLost(
            f"the cluster's lock was taken over by {other} (serial {other.serial}, ours was {self._mine.serial})",
            hint="this run changes nothing more; follow the other one with `talosmith run show --last --follow`",
        )

    def release(self) -> None:
        """Release the lock. Silent if it was taken over or the disk is full: the kernel's lock ends in any case."""
        if self._mine is None:
            return
        with suppress(OSError):
            # Into our own file, wherever it is now: a process that has taken over has put another in its place.
            free = replace(self._mine, released=True).to_bytes()
            os.pwrite(self._descriptor, free.ljust(len(self._written)), 0)
        os.close(self._descriptor)
        self._mine, self._descriptor = None, -1

    # Acquiring

    def _take(self, force: str) -> None:
        before = self._read()
        held = before is not None and not before.released
        if force and (before is None or not held or before.id != force):
            now = f"held by {before} (lock {before.id})" if before is not None and held else "the lock is free"
            raise UsageError(f"no lock has the id {force}: {now}", hint="run the command without --force-unlock")
        if before is not None and held and not force:
            self._prove_dead(before)
        for leftover in self.folder.glob(f".{self.path.name}.*.tmp"):  # of a process killed while acquiring it
            leftover.unlink(missing_ok=True)
        mine = Holder.myself(secrets.token_hex(4), 1 if before is None else before.serial + 1, self.command)
        content = mine.to_bytes()
        try:
            self._descriptor = replace_and_keep(self.path, content, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise self._unwritable(problem) from problem
        self._mine, self._written = mine, content
        self.took_from = before if held else None

    def liveness(self, holder: Holder) -> Liveness:
        """Whether the process that wrote `holder` into the lock still holds it."""
        if self._locked_in_kernel():
            return "alive"
        if holder.same_pids or ((holder.same_kernel or holder.before_reboot) and is_local(self.folder)):
            return "dead"
        return "unknown"

    def _prove_dead(self, holder: Holder) -> None:
        liveness = self.liveness(holder)
        if liveness == "alive":
            raise _held(holder)
        if liveness == "dead":
            return
        raise LockHeld(
            f"cluster is locked by {holder}, and whether that process is still running is unknown from here",
            holder,
            hint=f"make sure that it is not running, then break the stale lock: --force-unlock {holder.id}",
        )

    def _locked_in_kernel(self) -> bool:
        descriptor = os.open(self.path, _READ)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as problem:
            raise self._unwritable(problem) from problem
        finally:
            os.close(descriptor)
        return False

    def _read(self) -> Holder | None:
        try:
            return Holder.from_bytes(_content(self.path))
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._unwritable(problem) from problem
        except ValueError:
            raise Permanent(
                f"the cluster's lock is damaged: {self.path}",
                hint="make sure that no other talosmith changes the cluster, then delete this file",
            ) from None

    def _unwritable(self, problem: OSError) -> Permanent:
        return Permanent(
            f"cannot lock the cluster with {self.path}: {problem.strerror or problem}",
            hint="check the free space and the folder's permissions, or set XDG_STATE_HOME to a local folder",
        )

    # Reading and replacing the file is one critical section among processes; it takes milliseconds.

    @asynccontextmanager
    async def _guard(self) -> AsyncIterator[None]:
        end = now() + _GUARD_WAIT
        while True:
            with self._guarded_now() as free:
                if free:
                    yield
                    return
            if now() > end:
                raise Permanent(
                    f"another talosmith has been acquiring the cluster's lock for {_GUARD_WAIT:g} s: {self.path}",
                    hint="look for a talosmith that was suspended (Ctrl-Z), and continue or end it",
                )
            await asyncio.sleep(0.01)

    @contextmanager
    def _guarded_now(self) -> Iterator[bool]:
        try:
            descriptor = os.open(
                self.folder / "lock.guard", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as problem:
            raise self._unwritable(problem) from problem
        try:
            yield self._lock_guard(descriptor)
        finally:
            os.close(descriptor)

    def _lock_guard(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as problem:
            raise self._unwritable(problem) from problem
        return True


def _held(holder: Holder) -> LockHeld:
    life = holder.life
    hint = "wait for it (--wait), or end it"
    take_over = f"break the stale lock: --force-unlock {holder.id}"
    if life == "is stopped":
        hint = f"it is suspended (Ctrl-Z?); continue it: kill -CONT {holder.pid}; or {take_over}"
    elif life == "cannot be seen from here":
        hint = (
            "wait for it (--wait): its process is on another host or in another PID namespace (container), so "
            f"whether it is still running is unknown here; make sure that it is not, then {take_over}"
        )
    elif life != "runs":
        hint = f"its process {life}, but the lock is held; make sure that nothing is running, then {take_over}"
    return LockHeld(f"another talosmith is changing this cluster: {holder} (lock {holder.id})", holder, hint=hint)


def _content(path: Path) -> bytes:
    descriptor = os.open(path, _READ)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
