"""The journal's file: entries in SQLite, each with a checksum over itself and all before it.

Entries are added and never changed. Every read verifies the checksums; damage is an error, never an empty journal.
`journal_head` shows whether entries at the end are missing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from talosmith.engine.folder import make_folder
from talosmith.engine.journal_head import Head, Mark, create_head, read_head, write_head
from talosmith.errors import TalosmithError
from talosmith.files import create_file

_OURS = 0x54534A4C  # application id in the file's header: other databases are refused
_SCHEMA = """
CREATE TABLE entry (seq INTEGER PRIMARY KEY, run INTEGER NOT NULL, body TEXT NOT NULL, sum BLOB NOT NULL);
CREATE TABLE run (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, sum BLOB NOT NULL);
"""
# One for each earlier schema, from it to the next. The journals of all versions that were ever released are in tests.
MIGRATIONS: Sequence[Callable[[sqlite3.Connection], None]] = ()

# SQLite's error codes of causes outside the file; any other one on reading means that the file is damaged.
_AROUND = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


class JournalError(TalosmithError):
    """The journal cannot be read or written."""


class JournalDamaged(JournalError):
    """The journal's content is not what was written."""


class JournalTooNew(JournalError):
    """The journal was written by a later version of talosmith."""


class Store:
    """`lost`: number of entries missing at the end of a run that was cut short, as by a power cut."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.path = folder / "journal.sqlite"
        self._head_path = folder / "journal.head"
        self._write = write
        self._head_file = -1
        self._broken: JournalError | None = None
        self.lost = 0
        if write:
            make_folder(folder)
        with self._explained():
            head = self._read_head()
            self._db = self._connect(head)
            try:
                self._check_version(head)
                self._end = self._prove_end(head)
                self._durable = head.durable
            except BaseException:
                self._db.close()
                raise
            if write:
                self._head_file = os.open(self._head_path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()
        if self._head_file >= 0:
            os.close(self._head_file)
            self._head_file = -1

    # Writing

    def take_lost(self) -> int:
        """`lost`, once: the caller records it."""
        lost, self.lost = self.lost, 0
        return lost

    def append(self, run: int, body: str, *, begins: bool = False, durable: bool = False) -> None:
        """Add an entry. After one failure there is no further write: a gap would look like damage."""
        if self._broken is not None:
            raise self._broken
        try:
            with self._explained():
                self._append(run, body, begins, durable)
        except JournalError as problem:
            self._broken = problem
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def _append(self, run: int, body: str, begins: bool, durable: bool) -> None:
        seq = self._end.seq + 1
        mark = Mark(seq, _entry_sum(self._end.sum, seq, run, body.encode()))
        if durable:
            self._db.execute("PRAGMA synchronous=FULL")
        if begins:
            self._db.execute("BEGIN IMMEDIATE")
            before = self._db.execute("SELECT sum FROM run WHERE id = ?", (run - 1,)).fetchone()
            begun = _run_sum(before[0] if before else b"", run, seq)
            self._db.execute("INSERT INTO run VALUES (?, ?, ?)", (run, seq, begun))
        self._db.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?)", (seq, run, body, mark.sum)
        )  # one statement is atomic
        if begins:
            self._db.execute("COMMIT")
        self._end = mark
        if durable:
            self._durable = mark
            self._db.execute("PRAGMA synchronous=NORMAL")
        write_head(self._head_file, Head(self._durable, mark), sync=durable)

    # Reading

    def runs(self) -> list[tuple[int, int, int]]:
        """Each run's number, its first and its last entry."""
        with self._explained():
            rows = self._db.execute("SELECT id, first, sum FROM run ORDER BY id").fetchall()
            end = self._db.execute("SELECT max(seq) FROM entry").fetchone()[0] or 0
            sum_ = b""
            for number, (run, first, found) in enumerate(rows, 1):
                sum_ = _run_sum(sum_, run, first)
                if run != number or found != sum_:
                    raise self._damaged(f"run {number}")
            firsts = [first for _, first, _ in rows]
            if firsts[:1] not in ([], [1]) or (end and not firsts) or (firsts and firsts[-1] > end):
                raise self._damaged("the list of runs")
            lasts = [first - 1 for first in firsts[1:]] + [end]
        return [(run, first, last) for (run, first, _), last in zip(rows, lasts, strict=False)]

    def bodies(self, run: int, first: int, last: int) -> Iterator[bytes]:
        """The entries from `first` to `last`, all of which must be of `run`."""
        with self._explained():
            sum_ = self._sum_of(first - 1)
            rows = self._db.execute(
                "SELECT seq, run, CAST(body AS BLOB), sum FROM entry WHERE seq BETWEEN ? AND ? ORDER BY seq",
                (first, last),
            )
            expected = first
            for seq, of_run, body, found in rows:
                if not isinstance(body, bytes) or (seq, of_run) != (expected, run):
                    raise self._damaged(f"entry {expected}")
                sum_ = _entry_sum(sum_, seq, of_run, body)
                if found != sum_:
                    raise self._damaged(f"entry {expected}")
                expected += 1
                yield body
            if expected != last + 1:
                raise self._damaged(f"entry {expected}")

    def _sum_of(self, seq: int) -> bytes:
        if seq == 0:
            return Mark().sum
        row = self._db.execute("SELECT sum FROM entry WHERE seq = ?", (seq,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            raise self._damaged(f"entry {seq}")
        return row[0]

    # Opening

    def _read_head(self) -> Head:
        if not self._head_path.exists():
            if self.path.exists():
                raise self._damaged(f"{self._head_path.name} is missing")
            if not self._write:
                return Head()
            create_head(self._head_path)  # first, so that a journal without a head is known to be damaged
        try:
            return read_head(self._head_path)
        except ValueError:
            raise self._damaged(self._head_path.name) from None

    def _connect(self, head: Head) -> sqlite3.Connection:
        if not self.path.exists():
            if head.last.seq:
                raise self._damaged(f"{self.path.name} is missing")
            if not self._write:
                return _prepared(sqlite3.connect(":memory:", isolation_level=None))
            create_file(self.path, b"")  # SQLite would not create it with mode 0600
        if self._write:
            return sqlite3.connect(self.path, isolation_level=None, timeout=5.0)
        log = self.path.with_name(f"{self.path.name}-wal")
        # To read the write-ahead log, SQLite writes a file beside it; a read-only folder without a log needs none.
        closed = not os.access(self.path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
        how = "immutable=1" if closed else "mode=ro"
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=5.0)

    def _check_version(self, head: Head) -> None:
        self._db.execute("PRAGMA trusted_schema=OFF")
        ours, version = (
            self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if (ours, version) == (0, 0) and not head.last.seq:
            if not self._write:  # the process that created it was killed
                self._db.close()
                self._db = sqlite3.connect(":memory:", isolation_level=None)
            else:
                self._db.execute("PRAGMA journal_mode=WAL")
            _prepared(self._db)
        elif ours != _OURS or version < 1:
            raise self._damaged("its header")
        elif version > len(MIGRATIONS) + 1:
            raise JournalTooNew(
                f"the journal {self.path} was written by a later version of talosmith"
                f" (schema {version}; this one knows {len(MIGRATIONS) + 1})",
                hint="use that version, or a newer one",
            )
        elif version <= len(MIGRATIONS):
            self._migrate(version)
        if self._write:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")  # kill -9 loses nothing; see journal_head for power cuts

    def _migrate(self, version: int) -> None:
        if not self._write:
            self._db.close()
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=5.0)
        self._db.execute("BEGIN IMMEDIATE")
        for number in range(version, len(MIGRATIONS) + 1):
            MIGRATIONS[number - 1](self._db)
            self._db.execute(f"PRAGMA user_version={number + 1}")
        self._db.execute("COMMIT")

    def _prove_end(self, head: Head) -> Mark:
        end = self._db.execute("SELECT max(seq) FROM entry").fetchone()[0] or 0
        if end < head.durable.seq:
            raise self._damaged(f"{head.last.seq - end} entries at its end are missing")
        for mark in (head.durable, head.last):
            if mark.seq <= end and self._sum_of(mark.seq) != mark.sum:
                raise self._damaged(f"entry {mark.seq}")
        self.lost = max(0, head.last.seq - end)
        return Mark(end, self._sum_of(end))

    # Errors

    def _damaged(self, where: str) -> JournalDamaged:
        return JournalDamaged(
            f"the journal {self.path} is damaged: {where}",
            hint=f"it is the history of runs, which the cluster does not need; move it: {self._away()}",
        )

    def _away(self) -> str:
        folder = self.path.parent
        return f"mkdir {folder}/damaged && mv {folder}/journal.* {folder}/damaged/"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        verb = "write" if self._write else "read"
        try:
            yield
        except sqlite3.IntegrityError:
            raise JournalError(
                f"another process writes the journal {self.path}", hint="look for another talosmith on this cluster"
            ) from None
        except sqlite3.Error as problem:
            code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in _AROUND:
                raise self._damaged(str(problem)) from None
            raise JournalError(f"cannot {verb} the journal {self.path}: {problem}", hint=_SPACE) from None
        except OSError as problem:
            reason = problem.strerror or problem
            raise JournalError(f"cannot {verb} the journal {self.path}: {reason}", hint=_SPACE) from None


_SPACE = "check the free space and the folder's permissions, or set XDG_STATE_HOME to another folder"


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    """A new database, created in one transaction."""
    db.executescript(
        f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id={_OURS};PRAGMA user_version={len(MIGRATIONS) + 1}; COMMIT;"
    )
    return db


def _entry_sum(before: bytes, seq: int, run: int, body: bytes) -> bytes:
    return blake2b(b"%b%d %d %b" % (before, seq, run, body), digest_size=16).digest()


def _run_sum(before: bytes, run: object, first: object) -> bytes:
    return blake2b(before + f"{run!r} {first!r}".encode(), digest_size=16).digest()
