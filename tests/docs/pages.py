"""Commands on the pages of the documentation, as a reader would copy them; and a shell of a reader."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LIMIT = 300  # seconds for one command, on a busy machine


def pages() -> list[str]:
    """Every page with a block that a reader would type; decisions record the past and have none."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found if any(_blocks(page))]


def commands(page: str) -> list[str]:
    """Lines behind `$ `, with continuation lines; a comment at the end of a line stays: shells ignore it."""
    joined = re.sub(r" \\\n\s+", " ", "".join(text for kind, text in _blocks(ROOT / page) if kind == "console"))
    return re.findall(r"^\$ (.+)$", joined, re.MULTILINE)


def scripts(page: str) -> list[str]:
    return [text for kind, text in _blocks(ROOT / page) if kind == "sh"]


def _blocks(page: Path) -> Iterator[tuple[str, str]]:
    for kind, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        if kind in ("console", "sh"):
            yield kind, text


@dataclass(frozen=True)
class Reader:
    """A person with a terminal, a home and an empty folder, and nothing else on the PATH than this installation."""

    folder: Path
    tools: tuple[Path, ...] = ()
    exported: Mapping[str, str] = field(default_factory=dict)  # in the environment, by the reader

    @property
    def environment(self) -> Mapping[str, str]:
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        path = ":".join(map(str, (Path(sys.executable).parent, *self.tools, "/usr/bin", "/bin")))
        passed = {name: os.environ[name] for name in ("PYTHONPATH", "TALOSMITH_DIALED") if name in os.environ}
        return {"HOME": str(home), "PATH": path, "TERM": "xterm-256color", **passed, **self.exported}

    def types(self, line: str, answer: str = "") -> tuple[int, str]:
        """The exit code, and all that is shown. `answer` is typed at the first question."""
        ours, theirs = os.openpty()
        try:
            os.write(ours, answer.encode())
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.folder, env=self.environment, stdin=theirs, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LIMIT, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
        return done.returncode, done.stdout
