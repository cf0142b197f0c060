"""Finds phrases in source and docs that the project's vocabulary replaces by a term of the field.

What talosmith prints is pasted into search boxes: a phrase of our own finds nothing there. `make lint` runs this; the
right column is what to write instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ("src", "docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")
SUFFIXES = {".py", ".md", ".yaml", ".sh", ".html", ".json", ""}

FORBIDDEN = {
    r"give it its config|gives? (?:it|a node) its config": "apply machine config",
    r"change its config": "update machine config",
    r"make its machine|switch its machine on": "create machine, power on machine",
    r"tak(?:e|es|en|ing) (?:\w+ ){1,6}away\b|taken away": "delete, remove, detach",
    r"start etcd here": "bootstrap etcd",
    r"take it out of kubernetes": "delete Node object",
    r"move its pods": "cordon and drain",
    r"wait until it is ready": "wait for node to be Ready",
    r"erase its config": "reset node to maintenance mode",
    r"there is none that serves": "missing, expired or for another endpoint",
    r"something was done": "cluster changed in this run",
    r"\banew\b": "recreate, again",
    r"world has moved": "saved plan is stale: cluster state changed since",
    r"nobody is there to say yes": "stdin is not a terminal; pass --yes",
    r"surely gone": "break a stale lock by its id",
    r"killed anywhere": "safe to re-run after any interruption",
    r"(?:was|is) so already": "unchanged",
    r"as it should be": "in sync",
    r"what had to go": "removed",
    r"not done because of it": "skipped (depends on …)",
    r"\bauthority (?:k8s|os|etcd)\b|authority k8saggregator": "Kubernetes CA, Talos CA, etcd CA, aggregator CA",
    r"talos finds its nodes ready": "nodes are Ready",
    r"\b(?:is|are) not there\b": "does not exist",
    r"\b(?:is|are) there already\b": "already exists",
    r"\b(?:nobody|somebody|everybody|anybody|whoever)\b": "the caller, no control plane, another cluster, all nodes",
    r"\bstrangers?\b": "foreign",
    r"\bmay_write\b": "check_lock",
    r"\bnever_without\b": "requires",
    r"\bmisfortune\b": "call_faults",
}
_PATTERN = re.compile("|".join(f"({pattern})" for pattern in FORBIDDEN).replace(" ", " +"), re.IGNORECASE)


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, the phrase found, and what to write instead; phrases may run over a line's end."""
    flowed = re.sub(r"\n[ #>|]*", lambda found: "\n" + " " * (len(found[0]) - 1), text)
    for found in _PATTERN.finditer(re.sub(r"\s", " ", flowed)):
        instead = list(FORBIDDEN.values())[(found.lastindex or 1) - 1]
        yield text.count("\n", 0, found.start()) + 1, found[0], instead


def files() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PLACES],  # noqa: S607
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file():
            yield path


def main() -> int:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: `{phrase}`: write {instead}"
        for path in files()
        for line, phrase, instead in findings(path.read_text(encoding="utf-8"))
    ]
    sys.stdout.write("".join(f"{one}\n" for one in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
