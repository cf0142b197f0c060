"""Control characters of files, names and arguments reach a terminal written out (`\\x1b`), and never as they are."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from talosmith.report.style import Style
from talosmith.report.table import table
from tests.unit.report.stories import HOSTILE, is_tame

HEAD = "talos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
WRONG = (
    HEAD
    + r"""
cluster_name: "a\e[2Jb"
controlplane: 1
"k\e]0;owned\a": 1
domain: "\u009b31m\nerror: forged"
workers: [{name: w-1, ip: "\u202e"}]
"""
)
GOOD = (
    HEAD
    + r"""
cluster_name: dev
controlplane: {count: 1, instance_type: "x\e[32m\e[2J\ny"}
libvirt: {pool: "p\e[2J"}
network: {node_cidr: 10.0.0.0/24}
"""
)


def _talosmith(*arguments: str) -> tuple[str, str]:
    command = [sys.executable, "-m", "talosmith", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout.decode(), done.stderr.decode()


def _inventory(folder: Path, text: str) -> str:
    (folder / "cluster.yaml").write_text(text, encoding="utf-8")
    return str(folder)


@pytest.mark.slow
def test_errors_quote_what_is_in_files(tmp_path: Path) -> None:
    _, said = _talosmith("validate", "-i", _inventory(tmp_path, WRONG))
    assert is_tame(said)
    assert r"cluster_name: `a\x1b[2Jb` is not a valid name" in said
    assert r"unknown key `k\x1b]0;owned\x07`" in said
    assert r"domain: `\x9b31m\nerror: forged` is not a domain name" in said
    assert not any(line.startswith("error: forged") for line in said.splitlines())
    assert r"`\u202e` is not an IP address" in said


@pytest.mark.slow
def test_data_holds_the_same_in_its_own_escapes(tmp_path: Path) -> None:
    inventory = _inventory(tmp_path, WRONG)
    out, _ = _talosmith("validate", "-i", inventory, "-o", "json")
    assert is_tame(out)
    whats = [problem["message"] for problem in json.loads(out)["problems"]]
    assert "cluster_name: `a\x1b[2Jb` is not a valid name" in whats
    assert "domain: `\x9b31m\nerror: forged` is not a domain name" in whats


@pytest.mark.slow
def test_show_and_the_names_of_files(tmp_path: Path) -> None:
    inventory = _inventory(tmp_path, GOOD)
    (tmp_path / "patches/global").mkdir(parents=True)
    (Path(os.fsdecode(os.fsencode(tmp_path / "patches/global") + b"/a\x1b\xff.yaml"))).write_text("machine: {}\n")
    for arguments in (["show"], ["show", "--origin"]):
        out, said = _talosmith(*arguments, "-i", inventory)
        assert is_tame(out + said)
        assert r"x\x1b[32m\x1b[2J\ny" in out or r"p\x1b[2J" in out
    out, _ = _talosmith("show", "-i", inventory)
    assert r"patches/global/a\x1b\udcff.yaml" in out


@pytest.mark.parametrize("arguments", [["a\x1b[2Jb"], ["show", "-i", "a\x1b[2Jb"], ["show", "--a\x1b[2Jb"]])
def test_arguments(arguments: list[str]) -> None:
    _, said = _talosmith(*arguments)
    assert is_tame(said)
    assert r"a\x1b[2Jb" in said


def test_a_terminal_gets_our_colours_and_no_others(tmp_path: Path) -> None:
    """Not even a colour of ours, where the inventory says it."""
    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "talosmith", "show", "-i", _inventory(tmp_path, GOOD)]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(controller, 65536):
            shown += part
    except OSError:  # Linux says so that the other end is closed
        pass
    os.close(controller)
    assert process.wait(60) == 0
    text = shown.decode()
    assert "\x1b[2mNAME" in text
    assert r"x\x1b[32m\x1b[2J\ny" in text
    assert "\x1b[32m" not in text and "\x1b[2J" not in text


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_the_last_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put together of foreign words without care is written out where it leaves."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    style = Style(_Terminal())  # type: ignore[arg-type]
    assert style.enabled
    text = style.fit(f"{style.red('error:')} {HOSTILE}\tend\n")
    assert text.startswith("\x1b[1;31merror:\x1b[0m ")
    assert is_tame(text.replace("\x1b[1;31m", "").replace("\x1b[0m", "").replace("\t", ""))
    assert text.endswith("\tend\n")
    assert all(is_tame(line) for line in table(("A", "B"), [(HOSTILE, "b")], Style(sys.__stderr__)))  # type: ignore[arg-type]
