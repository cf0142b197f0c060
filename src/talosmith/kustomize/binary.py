"""Builds with a `kustomize` or `kubectl` from PATH what is not built here: replacements, transformers and others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from talosmith.environment import for_children
from talosmith.foreign_text import cleaned
from talosmith.kustomize.errors import ManifestError

_DEADLINE = 120.0


def find() -> list[str] | None:
    """The command that builds a folder: kustomize, or the one that is part of kubectl."""
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"]
    if kubectl := shutil.which("kubectl"):
        return [kubectl, "kustomize"]
    return None


def build(command: list[str], folder: Path) -> str:
    """What it prints. It gets none of our secrets, no permission to run plugins, and no standard input."""
    try:
        done = subprocess.run(
            [*command, str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_DEADLINE,
            env=for_children(),
        )
    except subprocess.TimeoutExpired:
        raise ManifestError(f"{command[0]} did not end within {_DEADLINE:.0f} s", file=folder) from None
    except OSError as wrong:
        raise ManifestError(f"{command[0]} cannot be run: {wrong.strerror}", file=folder) from None
    if done.returncode:
        raise ManifestError(f"{command[0]}: {cleaned(done.stderr.decode(errors='replace'))}", file=folder)
    return done.stdout.decode(errors="replace")
