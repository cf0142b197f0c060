"""Images in the cache: on disk before they count, used only as they were noted, and no planted file is written to."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.providers.images import Source, obtain, peek
from talosmith.providers.images import cache as image_cache

CONTENT = b"boots".ljust(512, b"\1") + bytes(1024 * 1024) + b"end"
CHANGED = CONTENT.replace(b"end", b"bad")
SOURCE = Source("https://images.test/disk.raw")


class Server:
    def __init__(self, *, is_down: bool = False) -> None:
        self.asked, self._is_down = 0, is_down
        self.transport = httpx2.MockTransport(self._answer)

    def _answer(self, _: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        if self._is_down:
            raise httpx2.ConnectError("connection refused")
        return httpx2.Response(200, content=CONTENT)


def overwrite(path: Path, content: bytes) -> None:
    """In place, the modification time put back; again until the kernel's clock has moved on."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        with path.open("r+b") as file:
            file.write(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_changed_image_is_not_used_but_fetched_again(tmp_path: Path) -> None:
    server = Server()
    image = obtain(SOURCE, tmp_path, transport=server.transport)
    overwrite(Path(image.path), CHANGED)
    assert not peek(SOURCE, tmp_path)
    assert obtain(SOURCE, tmp_path, transport=server.transport) == image
    assert Path(image.path).read_bytes() == CONTENT
    assert server.asked == 2


def test_a_changed_image_is_not_used_when_there_is_no_other(tmp_path: Path) -> None:
    image = obtain(SOURCE, tmp_path, transport=Server().transport)
    overwrite(Path(image.path), CHANGED)
    with pytest.raises(Temporary, match="connection refused"):
        obtain(SOURCE, tmp_path, transport=Server(is_down=True).transport)


def test_another_file_of_the_same_size_and_time_is_not_used(tmp_path: Path) -> None:
    server = Server()
    image = obtain(SOURCE, tmp_path, transport=server.transport)
    path, other = Path(image.path), tmp_path / "other"
    before = path.stat()
    other.write_bytes(CHANGED)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)
    assert obtain(SOURCE, tmp_path, transport=server.transport) == image
    assert path.read_bytes() == CONTENT


def test_a_users_own_file_that_was_changed_is_another_image(tmp_path: Path) -> None:
    file = tmp_path / "mine.raw"
    file.write_bytes(CONTENT)
    source = Source(str(file))
    assert obtain(source, tmp_path / "cache").digest == hashlib.sha256(CONTENT).hexdigest()
    overwrite(file, CHANGED)
    assert obtain(source, tmp_path / "cache").digest == hashlib.sha256(CHANGED).hexdigest()


def test_a_copy_of_the_same_bytes_is_hashed_once_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    image = obtain(SOURCE, tmp_path, transport=server.transport)
    hashed: list[Path] = []
    real = image_cache.digest_of
    monkeypatch.setattr(image_cache, "digest_of", lambda path: hashed.append(path) or real(path))
    assert obtain(SOURCE, tmp_path, transport=server.transport) == image
    assert hashed == [], "what has not changed is not hashed again"
    os.utime(image.path, ns=(1, 1))
    assert obtain(SOURCE, tmp_path, transport=server.transport) == image
    assert obtain(SOURCE, tmp_path, transport=server.transport) == image
    assert hashed == [Path(image.path)] and server.asked == 1


@pytest.mark.parametrize("note", [b"", b"{}", b"[]", b'{"image": {}, "state": []}', b"\xff"])
def test_a_note_that_says_nothing_is_no_note(note: bytes, tmp_path: Path) -> None:
    image = obtain(SOURCE, tmp_path, transport=Server().transport)
    next(tmp_path.glob("*.json")).write_bytes(note)
    assert not peek(SOURCE, tmp_path)
    assert obtain(SOURCE, tmp_path, transport=Server().transport) == image


def test_an_image_is_on_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes, then its name, then the note: after a power cut no name stands for less than the image."""
    done: list[tuple[str, str]] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def named(path: Any) -> str:
        path = Path(path)
        return "the cache" if path == tmp_path else path.suffix or path.name

    def fsynced(descriptor: int) -> None:
        done.append(("fsync", named(Path(f"/proc/self/fd/{descriptor}").readlink())))
        fsync(descriptor)

    def renamed(source: Any, target: Any, **folders: Any) -> None:
        done.append(("rename", named(target)))
        (rename if not folders else replace)(source, target, **folders)

    monkeypatch.setattr(os, "fsync", fsynced)
    monkeypatch.setattr(os, "rename", renamed)
    monkeypatch.setattr(os, "replace", renamed)
    obtain(SOURCE, tmp_path, transport=Server().transport)
    assert done == [
        ("fsync", "fetched"),
        ("rename", ".img"),
        ("fsync", "the cache"),
        ("fsync", ".tmp"),
        ("rename", ".json"),
        ("fsync", "the cache"),
    ]


def test_what_is_planted_in_the_cache_is_not_written_to(tmp_path: Path) -> None:
    """Links under every name that can be known beforehand: those of the note, of its temporary file, of the image."""
    cache, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    image = obtain(SOURCE, cache, transport=Server().transport)
    note = next(cache.glob("*.json"))
    elsewhere.write_bytes(b"not ours")
    for path in (note, note.with_suffix(".new"), note.with_suffix(".tmp"), Path(image.path)):
        path.unlink(missing_ok=True)
        path.symlink_to(elsewhere)
    assert obtain(SOURCE, cache, transport=Server().transport) == image
    assert elsewhere.read_bytes() == b"not ours"
    assert not Path(image.path).is_symlink() and not note.is_symlink()
    assert note.stat().st_mode & 0o777 == 0o600


def test_a_planted_lock_is_not_followed(tmp_path: Path) -> None:
    cache, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    obtain(SOURCE, cache, transport=Server().transport)
    assert cache.stat().st_mode & 0o777 == 0o700
    lock = next(cache.glob("*.lock"))
    lock.unlink()
    elsewhere.write_bytes(b"not ours")
    lock.symlink_to(elsewhere)
    with pytest.raises(Permanent, match=r"image cache cannot be locked: .*symbolic links") as refused:
        obtain(SOURCE, cache, transport=Server().transport)
    assert "remove" in refused.value.hint
    assert elsewhere.read_bytes() == b"not ours"
