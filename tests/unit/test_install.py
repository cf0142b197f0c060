"""`tools/install.sh` says what it installs, and what failed; uv and Python are stood in for by scripts."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "install.sh"


def install(folder: Path, uv: str) -> subprocess.CompletedProcess[str]:
    for path, text in ((folder / "bin" / "uv", uv), (folder / ".venv" / "bin" / "python", "exit 0")):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (folder / "constraints.txt").write_text("a==1\nb==2\n")
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(["sh", str(SCRIPT)], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_each_thing_that_is_installed_is_a_line_with_its_time(tmp_path: Path) -> None:
    ended = install(tmp_path, "echo noise")
    assert ended.returncode == 0, ended.stderr
    assert [re.sub(r"\d+ s$", "N s", line) for line in ended.stdout.splitlines()] == [
        "Installing talosmith into .venv:",
        "  talosmith and its dependencies (2 pinned versions, uv) … N s",
        "  bytecode of talosmith … N s",
    ]


def test_what_failed_is_said_in_the_words_of_the_installer(tmp_path: Path) -> None:
    ended = install(tmp_path, "echo no route to host >&2; exit 7")
    assert ended.returncode == 7
    assert "no route to host" in ended.stderr and "failed after" in ended.stdout and "bytecode" not in ended.stdout
