"""Reads a chart from a folder; what its .helmignore names is left out."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from talosmith.helm.archive import MAX_FILE, MAX_FILES, MAX_TOTAL
from talosmith.helm.errors import ChartError


def read(folder: Path) -> dict[str, bytes]:
    """The files of the chart, by their path inside it."""
    if not (folder / "Chart.yaml").is_file():
        raise ChartError(f"{folder} holds no Chart.yaml, so it is no chart")
    rules = _rules(folder)
    files: dict[str, bytes] = {}
    total = 0
    for place, folders, names in os.walk(folder, followlinks=True):
        inside = Path(place).relative_to(folder)
        folders[:] = sorted(one for one in folders if not _ignored(rules, str(inside / one), folder=True))
        if len(inside.parts) > 32:
            raise ChartError(f"{folder} is nested too deep, perhaps by a link to itself")
        for name in names:
            path = str(inside / name)
            if _ignored(rules, path, folder=False):
                continue
            content = Path(place, name)
            if not content.is_file():
                raise ChartError(f"{content} is no plain file")
            if content.stat().st_size > MAX_FILE:
                raise ChartError(f"{content} is too big for a file of a chart ({MAX_FILE} bytes at most)")
            files[path] = content.read_bytes().removeprefix(b"\xef\xbb\xbf")
            total += len(files[path])
            if total > MAX_TOTAL or len(files) > MAX_FILES:
                raise ChartError(
                    f"{folder} is too big for a chart ({MAX_TOTAL} bytes and {MAX_FILES} files at most)",
                    hint="name what is not part of the chart in its .helmignore",
                )
    return dict(sorted(files.items()))


@dataclass(frozen=True)
class _Rule:
    pattern: str
    negate: bool
    folders_only: bool
    whole_path: bool

    def matches(self, path: str, *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        return _matches(path if self.whole_path else path.rsplit("/", 1)[-1], self.pattern)


def _rules(folder: Path) -> list[_Rule]:
    """Helm's rules: like .gitignore without `**`, and templates/ starting with a dot or ending in ? are left out."""
    rules = []
    ignore = folder / ".helmignore"
    for line in ignore.read_text().splitlines() if ignore.is_file() else []:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if "**" in text:
            raise ChartError(f"{ignore}: double-star (**) syntax is not supported by Helm")
        negate = text.startswith("!")
        text = text.removeprefix("!")
        folders_only = text.endswith("/")
        text = text.removesuffix("/")
        rules.append(_Rule(text.removeprefix("/"), negate, folders_only, "/" in text))
    rules.append(_Rule("templates/.?*", negate=False, folders_only=False, whole_path=True))
    return rules


def _ignored(rules: list[_Rule], path: str, *, folder: bool) -> bool:
    for rule in rules:
        if rule.negate:
            if rule.folders_only and not folder:
                return True
            if not rule.matches(path, folder=folder):
                return True
        elif rule.matches(path, folder=folder):
            return True
    return False


def _matches(text: str, pattern: str) -> bool:
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A shell pattern whose star stops at a slash."""
    return re.compile(fnmatch.translate(pattern).replace(".*", "[^/]*").replace("(?s:", "(?:"))
