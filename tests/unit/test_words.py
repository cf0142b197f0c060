"""The check of words that `make lint` runs: phrases are found, also over a line's end."""

from __future__ import annotations

import pytest

from tools.words import files, findings


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("x = 1\n# Nobody is here", "Nobody"),
        ("the config is as it\n    # should be", "as it       should be"),
        ('"take its machine and its disks away"', "take its machine and its disks away"),
        ("the file is\nnot there", "is not there"),
    ],
)
def test_phrases_are_found(text: str, phrase: str) -> None:
    ((line, found, instead),) = findings(text)
    assert (found, line) == (phrase, 2 if text.startswith("x") else 1) and instead


@pytest.mark.parametrize("text", ["nodes are in sync", "the machine does not exist", "bodyguard", "somebodyish"])
def test_words_of_the_field_pass(text: str) -> None:
    assert not list(findings(text))


def test_source_and_docs_are_looked_at() -> None:
    names = {path.name for path in files()}
    assert {"README.md", "up.py", "metal.md", "cluster.yaml", "Makefile"} <= names
