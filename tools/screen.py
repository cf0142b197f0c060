"""Writes README's first screen: a real plan and a real run in the lab, as text. A test keeps it current.

Durations, times and identifiers differ from run to run; they are written as they were and compared without.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_INVENTORY = """\
cluster_name: home
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {clock: fast}
controlplane: 3
workers: 2
"""
_BEGIN, _END = "<!-- screen", "<!-- /screen -->"
_COMMANDS = (
    ("talosmith plan -i home", ["plan", "-i", "home", "--new-secrets"]),
    ("talosmith up -i home --yes", ["up", "-i", "home", "--new-secrets", "--yes"]),
    ("talosmith status -i home", ["status", "-i", "home"]),
)


def record() -> str:
    """What a person sees, in an empty home: of `up`, what remains on the screen after the run."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here"
        (here / "home").mkdir(parents=True)
        (here / "home" / "cluster.yaml").write_text(_INVENTORY, encoding="utf-8")
        passed = {name: os.environ[name] for name in ("PYTHONPATH", "TALOSMITH_DIALED") if name in os.environ}
        environment = {**passed, "HOME": folder, "PATH": os.environ["PATH"], "COLUMNS": "80"}
        try:
            shown = [f"$ {line}\n{_run(argv, here, environment)}" for line, argv in _COMMANDS]
        finally:
            _run(["destroy", "-i", "home", "--yes", "--confirm", "home"], here, environment)
        return "\n".join(shown).replace(folder, "~")


def _run(argv: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "talosmith", *argv], cwd=folder, env=environment, text=True, check=False,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    if done.returncode not in (0, 2):
        raise RuntimeError(f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def without_times(text: str) -> str:
    """Equal for two recordings of the same version."""
    text = re.sub(r"\d+(?:\.\d+)? (?:s|ms|min)\b(?: \d+ s)?", "TIME", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z| UTC)?|\b\d{8}-\d{4,6}\b", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    text = re.sub(r"(leader|\d on) cp-\d", r"\1 NODE", text)  # etcd elects whom it likes
    text = re.sub(r" \(\d+ unchanged\)", "", text)  # nodes that are ready before a busy computer looks
    return re.sub(
        r"(?m)[ \t]+$|(?<=\S) +", lambda found: " " if found[0].strip("\t ") == "" and found[0] else "", text
    )


def in_readme() -> str:
    text = README.read_text(encoding="utf-8")
    return (
        text[text.index("```", text.index(_BEGIN)) : text.index(_END)].removeprefix("```text\n").removesuffix("```\n")
    )


def write() -> None:
    text = README.read_text(encoding="utf-8")
    begin = text.index("\n", text.index(_BEGIN)) + 1
    README.write_text(f"{text[:begin]}```text\n{record()}```\n{text[text.index(_END) :]}", encoding="utf-8")


if __name__ == "__main__":
    write()
