"""Hostile and broken files through the real command: a clean error with its place, soon, and in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.inventory import check, sources

GOOD = b"cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
BOMB = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 30)
)
MERGE_BOMB = b"a0: &a0 {x: 1}\n" + b"".join(
    b"a%d: &a%d {<<: [%s], k%d: 1}\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9), n) for n in range(1, 12)
)


def _file(content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / "cluster.yaml").write_bytes(content) and None


def _folder(folder: Path) -> None:
    (folder / "cluster.yaml").write_bytes(GOOD)
    (folder / "nodes.yaml").mkdir()


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "cluster.yaml")


def _extends_by_link(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "cluster.yaml").write_bytes(GOOD)
    inner = folder / "inventories"
    inner.mkdir()
    (inner / "env").mkdir()
    (inner / "base").symlink_to(outside)
    (inner / "env" / "cluster.yaml").write_bytes(b"extends: ../base\n" + GOOD)


def _patch_by_link(folder: Path) -> None:
    (folder / "cluster.yaml").write_bytes(GOOD)
    (folder / "patches" / "global").mkdir(parents=True)
    (folder / "patches" / "global" / "a.yaml").symlink_to("/etc/hostname")


def _named_patch_by_link(folder: Path) -> None:
    (folder / "cluster.yaml").write_bytes(GOOD + b"patches: [a.yaml]\n")
    (folder / "a.yaml").symlink_to("/etc/hostname")


CASES = {
    "alias bomb": (_file(GOOD + BOMB), "cluster.yaml:10:40: error: the aliases"),
    "merge bomb": (_file(GOOD + MERGE_BOMB), "error: the aliases"),
    "nesting, flow": (_file(b"a: " + b"[" * 10_000 + b"]" * 10_000), "cluster.yaml:1:53: error: nested deeper"),
    "nesting, block": (_file(b"".join(b" " * n + b"a:\n" for n in range(2_500))), ":51:51: error: nested deeper"),
    "50 MB": (_file(GOOD + b"#" * 50_000_000), "cluster.yaml: error: the file is larger than 4 MiB"),
    "duplicate key": (_file(GOOD + b"workers: 1\nworkers: 2\n"), "cluster.yaml:6:1: error: `workers` is given twice"),
    "Python tag": (_file(GOOD + b"workers: !!python/object/apply:os.system ['exit 3']\n"), ":5:10: error: the tag"),
    "own tag": (_file(GOOD + b"workers: !vault secret\n"), ":5:10: error: the tag `!vault`"),
    "NUL": (_file(GOOD + b"a: \0\n"), "cluster.yaml:5:4: error: control character U+0000"),
    "Latin-1": (_file(GOOD + "b: ä\n".encode("latin-1")), "cluster.yaml:5:4: error: byte 0xe4 is not UTF-8"),
    "UTF-16": (_file(GOOD.decode().encode("utf-16")), "cluster.yaml:1:1: error: the file is UTF-16"),
    "UTF-32": (_file(GOOD.decode().encode("utf-32-be")), "cluster.yaml:1:1: error: control character U+0000"),
    "a word of 20,000 digits": (_file(GOOD + b"domain: " + b"9" * 20_000), "cluster.yaml:5:9: error: domain: "),
    "a word of 4,000 words": (_file(GOOD + b"domain: " + b"token" * 4_000), "cluster.yaml:5:9: error: domain: "),
    "a name too long": (
        _file(b"extends: " + b"x" * 20_000 + b"\n" + GOOD),
        "cluster.yaml:1:10: error: `extends: xxx",
    ),
    "a folder": (_folder, "nodes.yaml: error: the file is a folder, not a regular file"),
    "a pipe": (_pipe, "cluster.yaml: error: the file is a named pipe (FIFO), not a regular file"),
    "nothing there": (lambda _: None, "cluster.yaml: error: the file does not exist"),
    "a patch by a link": (_patch_by_link, "patches/global/a.yaml: error: the patch is a link that leads out"),
    "a named patch by a link": (_named_patch_by_link, "cluster.yaml:5:11: error: the patch `a.yaml` is not inside"),
    "extends by a link": (_extends_by_link, "cluster.yaml:1:10: error: `extends: ../base` is outside of"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_clean_error(name: str, tmp_path: Path) -> None:
    arrange, said = CASES[name]
    folder = tmp_path / "inventory"
    folder.mkdir()
    arrange(folder)
    file = next(iter(folder.glob("inventories/env/cluster.yaml")), folder / "cluster.yaml")
    before = sorted(tmp_path.rglob("*"))
    done, seconds, mib = _measured([sys.executable, "-m", "talosmith", "validate", "-i", str(file)])
    assert done.returncode == 65, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert mib < 200
    assert seconds < 1.0 or seconds < 3 * _good_seconds(tmp_path / "good")  # soon, also where everything takes long


def _measured(command: list[str]) -> tuple[subprocess.CompletedProcess[str], float, float]:
    """CPU seconds and peak memory of a command, from a process of its own that runs nothing else."""
    watcher = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "sys.stderr.write(done.stderr)\n"
        "print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", watcher, *command], capture_output=True, text=True, check=False)
    seconds, kib = done.stdout.split()
    return done, float(seconds), float(kib) / 1024


def _good_seconds(folder: Path) -> float:
    """What the command takes here and now for an inventory with nothing wrong in it."""
    folder.mkdir()
    (folder / "cluster.yaml").write_bytes(GOOD)
    done, seconds, _ = _measured([sys.executable, "-m", "talosmith", "validate", "-i", str(folder)])
    assert done.returncode == 0, done.stderr
    return seconds


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads everything, so the refusal itself is put in."""
    (tmp_path / "cluster.yaml").write_bytes(GOOD)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sources.os, "open", refuse)
    problems = check(tmp_path / "cluster.yaml").problems
    assert [problem.what for problem in problems] == ["the file cannot be read: Permission denied"] * 2
