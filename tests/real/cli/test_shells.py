"""Completion in zsh and fish; bash is on every machine, so its test is in the first tier."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.peers import PeerUnavailable, packages


@pytest.fixture(scope="module", autouse=True)
def shells() -> None:
    try:
        packages.ensure(("zsh", "fish"))
    except PeerUnavailable as problem:
        pytest.skip(str(problem))


def complete(shell: str, option: str, script: str) -> list[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([shell, option, script], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.splitlines()


def test_zsh_completes() -> None:
    script = (
        "autoload -Uz compinit && compinit -u; source <(talosmith completion zsh)\n"
        "_describe() { print -l -- ${found%%:*} }; words=(talosmith va); CURRENT=2; _talosmith"
    )
    assert complete("zsh", "-fc", script) == ["validate"]


def test_fish_completes() -> None:
    script = "talosmith completion fish | source; complete -C 'talosmith va'"
    assert [line.split("\t")[0] for line in complete("fish", "-c", script)] == ["validate"]
