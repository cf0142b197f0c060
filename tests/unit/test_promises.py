"""The page of promises: each has the tests that hold it, which exist, and says what they do not cover.

An empty last column would claim that the tests prove the whole promise.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "promises.md"
PROMISES = 58
NOT_BUILT = "not built yet: "
A_SENTENCE = 20  # letters: a dash says nothing
ROW = re.compile(r"\| (\d+) \| (.+?) \| (.*?) ?\| (.*?) ?\|")


@dataclass(frozen=True)
class Promise:
    number: int
    text: str
    held_by: tuple[str, ...]
    not_covered: str


def read(page: str) -> list[Promise]:
    rows = [line for line in page.splitlines() if re.match(r"\| *\d", line)]
    return [promise(row) for row in rows]


def promise(row: str) -> Promise:
    found = ROW.fullmatch(row)
    assert found, f"not a line of the table: {row}"
    number, text, held_by, not_covered = found.groups()
    return Promise(int(number), text, tuple(held_by.split("<br>")) if held_by else (), not_covered)


def problems(promises: list[Promise]) -> Iterator[str]:
    counted = Counter(one.number for one in promises)
    for number in sorted({*counted, *range(1, PROMISES + 1)}):
        if counted[number] != 1 or not 1 <= number <= PROMISES:
            yield f"{number} is there {counted[number]} times"
    for one in promises:
        if len(one.not_covered) < A_SENTENCE:
            yield f"{one.number} does not say what is not covered"
        if bool(one.held_by) == one.not_covered.startswith(NOT_BUILT):
            yield f"{one.number} is held by a test, or is not built yet: one of the two"
        for name in one.held_by:
            if not exists(name.strip("`")) or name != f"`{name.strip('`')}`":
                yield f"{one.number}: there is no {name}"


def exists(name: str) -> bool:
    path, *inside = name.split("::")
    file = ROOT / path
    if not path.startswith(("tests/", "tests/provider_contract.py")) or not file.is_file():
        return False
    if file.suffix == ".yaml":
        return not inside and path.startswith("tests/plans/")
    return bool(inside) and inside[-1].startswith("test_") and tuple(inside) in defined_in(file)


@cache
def defined_in(file: Path) -> frozenset[tuple[str, ...]]:
    """Functions, and methods with their class; nothing is imported."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return frozenset(
        {*_functions(tree.body), *((one.name, *name) for one in classes for name in _functions(one.body))}
    )


def _functions(body: list[ast.stmt]) -> Iterator[tuple[str, ...]]:
    return ((node.name,) for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_promise_is_there_once_and_held_by_tests_that_exist() -> None:
    promises = read(PAGE.read_text(encoding="utf-8"))
    assert list(problems(promises)) == []
    assert all(len(one.text) > 20 for one in promises)


def test_tests_in_the_text_of_the_page_exist_too() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w/]+\.(?:yaml|py)(?:::\w+)*", page)
    assert len(named) > 100
    for name in named:
        assert exists(name) if "::" in name or name.endswith(".yaml") else (ROOT / name).is_file(), name
