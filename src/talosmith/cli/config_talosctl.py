"""A second opinion on migrated configs: the real talosctl loads, validates and writes them back.

The configs hold stand-in secrets, so nothing of the cluster is in the files that talosctl is given.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from talosmith.desired.config.compare import differing_paths
from talosmith.desired.config.load import load
from talosmith.desired.config.migrate.proof import NEW, NodeProof
from talosmith.errors import TalosmithError

_TAG = re.compile(r"Tag:\s+v(\d+)\.(\d+)\.(\S+)")
_SECONDS = 60


class Talosctl:
    """A talosctl of Talos 1.14 or later."""

    def __init__(self, program: str, version: str) -> None:
        self.program = program
        self.version = version

    @classmethod
    def find(cls, given: Path | None) -> Talosctl | None:
        """The one that is given, which must fit, or the one on the PATH if it does."""
        program = str(given) if given else shutil.which("talosctl")
        if program is None:
            return None
        try:
            answer = _run(program, "version", "--client")
        except OSError as wrong:
            raise TalosmithError(f"cannot run {program}: {wrong.strerror}") from None
        tag = _TAG.search(answer.stdout)
        line = (int(tag[1]), int(tag[2])) if tag else (0, 0)
        if line >= NEW and tag:
            return cls(program, f"v{tag[1]}.{tag[2]}.{tag[3]}")
        if given:
            found = f"v{tag[1]}.{tag[2]}" if tag else "something else"
            raise TalosmithError(f"{program} is {found}", hint="pass a talosctl of Talos 1.14 or later")
        return None

    def check(self, proofs: Iterable[NodeProof], mode: str) -> list[NodeProof]:
        """The proofs, with what talosctl refuses or reads otherwise as an error."""
        with tempfile.TemporaryDirectory(prefix="talosmith-migrate-") as folder:
            return [self._checked(proof, mode, Path(folder) / "config.yaml") for proof in proofs]

    def _checked(self, proof: NodeProof, mode: str, file: Path) -> NodeProof:
        if not proof.equal or proof.new is None:
            return proof
        file.write_text(proof.new.text, encoding="utf-8")
        verdict = _run(self.program, "validate", "--config", str(file), "--mode", mode)
        if verdict.returncode:
            return NodeProof(proof.node, error=f"talosctl refuses the config ({_words(verdict.stderr)})")
        back = _run(self.program, "machineconfig", "patch", str(file), "--patch", "machine: {}")
        if back.returncode:
            return NodeProof(proof.node, error=f"talosctl cannot read the config ({_words(back.stderr)})")
        paths = differing_paths(load(back.stdout, "talosctl's answer"), proof.new.documents)
        if paths:
            return NodeProof(proof.node, error=f"talosctl reads the config otherwise: {', '.join(paths)}")
        return proof


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
    )


def _words(text: str) -> str:
    return " ".join(text.split())[:500]
