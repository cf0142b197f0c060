"""The real talosctl as a function: configs in, configs or verdicts out. There is one of each Talos with own rules."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from talosmith.desired.config.schema.since import Line
from talosmith.yaml.go_words import is_text_since_1_2

HERE = Path(__file__).parent
TALOSCTLS: dict[str, Line] = {"talosctl": (1, 14), "talosctl-1.13": (1, 13)}


_NO_CLUSTER = re.compile(r"(?m)^cluster:\n    controlPlane: null\n(?!    )")
_QUOTED = re.compile(r'(?m)(?<=[ ])"([^"\\\n]*)"(?=:|$)|^"([^"\\\n]*)"(?=:)')


def _requoted(match: re.Match[str]) -> str:
    word = match[1] or match[2] or ""
    return f"'{word}'" if is_text_since_1_2(word) else match[0]


class Talosctl:
    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self.line = TALOSCTLS[binary.name]

    def secrets(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "secrets.yaml"
            assert self._run(folder, "gen", "secrets", "-o", str(target)).returncode == 0
            return dict(yaml.safe_load(target.read_text()))

    def gen_config(self, secrets: str, flags: Sequence[str]) -> dict[str, str]:
        """The config of each role."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "secrets.yaml").write_text(secrets)
            fixed = ("--with-secrets", "secrets.yaml", "--with-docs=false", "--with-examples=false", "-o", "out")
            done = self._run(folder, "gen", "config", *flags, *fixed)
            assert done.returncode == 0, done.stderr
            roles = ("controlplane", "worker")
            return {role: self.written((Path(folder) / f"out/{role}.yaml").read_text()) for role in roles}

    def patch(self, config: str, patches: Sequence[str]) -> str | None:
        """The patched config; None if the patches are refused."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.yaml").write_text(config)
            for number, patch in enumerate(patches):
                (Path(folder) / f"{number}.yaml").write_text(patch)
            flags = [flag for number in range(len(patches)) for flag in ("-p", f"@{number}.yaml")]
            done = self._run(folder, "machineconfig", "patch", "config.yaml", *flags, "-o", "out.yaml")
            return self.written((Path(folder) / "out.yaml").read_text()) if done.returncode == 0 else None

    def validate(self, config: str, mode: str, *, strict: bool) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.yaml").write_text(config)
            strictly = ["--strict"] if strict else []
            return self._run(folder, "validate", "-c", "config.yaml", "-m", mode, *strictly).returncode == 0

    def written(self, text: str) -> str:
        """What talosctl wrote, in the form of 1.14.

        It has single quotes for words that YAML 1.1 reads otherwise, and no section for an endpoint that is not set.
        """
        if self.line >= (1, 14):
            return text
        text = _NO_CLUSTER.sub("cluster: {}\n", text).replace("\n    controlPlane: null\n", "\n")
        return _QUOTED.sub(_requoted, text)

    def _run(self, folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._binary), *arguments]
        # GOGC=off: so short a run is over before collecting garbage pays.
        environment = {"HOME": folder, "PATH": "/usr/bin:/bin", "GOGC": "off"}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def read_cases(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((HERE / name).read_text()))


def known_differences(section: str) -> dict[str, str]:
    """Case and reason of what may differ from talosctl."""
    return {one["case"]: one["reason"] for one in read_cases("known_differences.yaml")[section]}
