"""YAML in the 1.2 sense, with positions that are right and limits that hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talosmith.inventory.parse import Document, Unreadable, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("52:54:00:11:22:33", "52:54:00:11:22:33"),
        ("no", "no"),
        ("on", "on"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-11-15", "2026-11-15"),
        ("1.30", 1.3),
        ("1e3", 1000.0),
        ("-.inf", float("-inf")),
        ("~", None),
        ("", None),
        ("True", True),
        ("'true'", "true"),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("9" * 5000, "9" * 5000),
        ("=", "="),
    ],
)
def test_scalars_are_read_as_yaml_1_2(text: str, value: object) -> None:
    assert parse(f"a: {text}\n".encode(), "f").data == {"a": value}


def test_merge_keys_fill_in_what_is_not_said() -> None:
    document = parse(b"a: &a {x: 1, y: 2}\nb: &b {z: 3}\nc: {<<: [*a, *b], y: 9}\n", "f")
    assert document.data["c"] == {"y": 9, "x": 1, "z": 3}
    assert document.locate(("c", "x")) == (1, 11)


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse(b"\xef\xbb\xbfa: 1\n", "f").data == {"a": 1}


def test_positions() -> None:
    document = parse(b"a:\n  - b: 1\n    'c d': {e: [x, yy]}\n", "f")
    assert document.locate(("a", 0, "c d", "e", 1)) == (3, 20)
    assert document.locate(("a", 0, "c d"), of_key=True) == (3, 5)
    assert document.locate(("a", 0, "nothing", "there")) == (2, 5)
    assert Document("f", "").locate(("a",)) == (1, 1)


def test_several_documents_where_they_are_allowed() -> None:
    assert parse(b"a: 1\n---\nb: 2\n", "f", several=True).documents == [{"a": 1}, {"b": 2}]


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("content", "what", "place"),
    [
        (BOMB.encode(), "the aliases (`*name`) unfold into too many values", "f:6:40"),
        (b"a: " + b"[" * 10_000, "nested deeper than 50 levels", "f:1:53"),
        (b"".join(b" " * n + b"a:\n" for n in range(60)), "nested deeper than 50 levels", "f:51:51"),
        (b"a: 1\nb: \x00\n", "control character U+0000 in the file", "f:2:4"),
        (b"a: 1\nb: \xff\n", "byte 0xff is not UTF-8", "f:2:4"),
        ("a: 1\n".encode("utf-16"), "the file is UTF-16", "f:1:1"),
        ("ä: 1\n".encode("latin-1"), "byte 0xe4 is not UTF-8", "f:1:1"),
        (b"a: 1\r\x07b", "control character U+0007 in the file", "f:1:6"),
        (b"x" * (4 * 1024 * 1024 + 1), "the file is larger than 4 MiB", "f"),
        (b"- a\n" * 600_000, "more than 250,000 values in one file", "f:250000:3"),
    ],
)
def test_what_is_not_taken(content: bytes, what: str, place: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(content, "f")
    problem = caught.value.problems[-1]
    assert (problem.what, problem.place) == (what, place)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_place(content: bytes) -> None:
    try:
        parse(content, "f", several=True)
    except Unreadable as unreadable:
        assert all(problem.file == "f" and problem.what for problem in unreadable.problems)
