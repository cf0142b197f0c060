"""Secret files: private from birth, whole or not there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talosmith.errors import SecretsError
from talosmith.files.secret import create_secret, make_private_folder, write_secret

Writer = Callable[[Path, bytes], None]
both = pytest.mark.parametrize("write", [write_secret, create_secret])


@pytest.fixture(params=[0o000, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@both
@pytest.mark.usefixtures("umask")
def test_only_the_owner_may_read_it_whatever_the_umask(write: Writer, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write(path, b"content")
    assert mode(path) == 0o600
    assert path.read_bytes() == b"content"


@pytest.mark.usefixtures("umask")
def test_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "one" / "two")
    assert mode(tmp_path / "one") == mode(tmp_path / "one" / "two") == 0o700


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "new")
    assert mode(tmp_path) == 0o755


def test_a_write_replaces_a_file_and_its_loose_mode(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_secret(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert names(tmp_path) == ["secret"]


def test_creating_does_not_touch_a_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    with pytest.raises(SecretsError, match="already exists") as caught:
        create_secret(path, b"new")
    assert caught.value.hint
    assert path.read_bytes() == b"old"


@both
def test_a_planted_link_is_not_followed(write: Writer, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"not ours")
    path = tmp_path / "secret"
    path.symlink_to(target)
    with pytest.raises(SecretsError):
        write(path, b"new")
    assert target.read_bytes() == b"not ours"
    assert path.is_symlink()


@both
def test_a_dangling_link_is_not_followed(write: Writer, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(SecretsError):
        write(path, b"new")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(SecretsError, match="No space left") as caught:
        write_secret(path, b"topsecret")
    assert "free space" in caught.value.hint
    assert "topsecret" not in str(caught.value)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["secret"]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_leaves_no_half_of_a_new_file(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(SecretsError, match="No space left"):
        create_secret(tmp_path / "secret", b"topsecret")
    assert names(tmp_path) == []


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:3]))
    write_secret(tmp_path / "secret", b"0123456789")
    assert (tmp_path / "secret").read_bytes() == b"0123456789"


def test_an_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_secret(tmp_path / "secret", b"content")
    assert names(tmp_path) == []


@both
def test_a_missing_folder_is_said(write: Writer, tmp_path: Path) -> None:
    with pytest.raises(SecretsError, match="No such file or directory"):
        write(tmp_path / "missing" / "secret", b"content")


@both
def test_what_is_planted_under_the_temporary_name_is_not_used(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even whoever guesses the name: a link there is not followed, and a file there is not written into."""
    monkeypatch.setattr(secrets, "token_hex", lambda size: "guessed")
    target = tmp_path / "elsewhere"
    target.write_bytes(b"not ours")
    path = tmp_path / "secret"
    planted = path if write is create_secret else tmp_path / ".secret.guessed.tmp"
    planted.symlink_to(target)
    with pytest.raises(SecretsError):
        write(path, b"topsecret")
    planted.unlink()
    planted.write_bytes(b"opened by somebody before")
    with pytest.raises(SecretsError):
        write(path, b"topsecret")
    assert target.read_bytes() == b"not ours"
    assert planted.read_bytes() == b"opened by somebody before"


def test_temporary_names_cannot_be_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = os.replace

    def replace(source: str, *rest: str, **folders: int) -> None:
        seen.append(source)
        real(source, *rest, **folders)

    monkeypatch.setattr(os, "replace", replace)
    for _ in range(20):
        write_secret(tmp_path / "secret", b"content")
    chance = {name.removeprefix(".secret.").removesuffix(".tmp") for name in seen}
    assert len(chance) == 20
    assert all(len(bytes.fromhex(one)) >= 8 for one in chance)


def test_killed_between_any_two_calls_it_is_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a power cut may take is on the disk before it counts: first the content, then the name."""
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    calls: list[str] = []
    contents: list[bytes] = []

    def watched(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(*arguments: object, **more: object) -> object:
            contents.append(path.read_bytes())
            result = real(*arguments, **more)
            contents.append(path.read_bytes())
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)  # type: ignore[arg-type]
            calls.append("fsync of the folder" if folder else name)
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("write", "fsync", "replace"):
            patch.setattr(os, name, watched(name))
        write_secret(path, b"new")
    assert calls == ["write", "fsync", "replace", "fsync of the folder"]
    assert contents == [b"old"] * 5 + [b"new"] * 3
