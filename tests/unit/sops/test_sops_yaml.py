"""YAML in and out: values, comments at their places, layout."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.errors import SecretsError
from talosmith.sops import Comment, Timestamp, plain
from talosmith.sops.tree import settled
from talosmith.sops.yaml_reader import read_yaml
from talosmith.sops.yaml_writer import write_yaml


def outline(value: Any) -> Any:
    """A tree that can be compared: comments by text, and whether they stand behind a value."""
    if isinstance(value, Comment):
        return f"#{value.text}" + (" <-" if value.inline else "")
    if isinstance(value, dict):
        return [outline(key) if isinstance(key, Comment) else {key: outline(item)} for key, item in value.items()]
    if isinstance(value, list):
        return [outline(item) for item in value]
    return value


def read(text: str) -> Any:
    (document,) = read_yaml(text, "a.yaml", comments=True)
    return document


def test_comments_stay_where_they_stand() -> None:
    text = """\
# top

# second
a: 1 # beside a
# above b
b: # beside b's key
  # first in b
  c: "x # no" # beside c

  # above d
  d: 'y'
  # last in b
# above e
e:
- one # beside one
# above two
- two
# above f
f: |  # beside f
  text # not a comment
g: [1, 2] # beside g
h:
  - k: v
    # in the item
    l: # beside l
    # last in the item
  # last in the list
i: plain#no
# last
"""
    assert outline(read(text)) == [
        "# top",
        "# second",
        "# beside a <-",
        {"a": 1},
        "# above b",
        "# beside b's key",
        {"b": ["# first in b", "# beside c <-", {"c": "x # no"}, "# above d", {"d": "y"}, "# last in b"]},
        "# above e",
        {"e": ["# beside one <-", "one", "# above two", "two"]},
        "# above f",
        "# beside f <-",
        {"f": "text # not a comment\n"},
        "# beside g <-",
        {"g": [1, 2]},
        {
            "h": [
                [{"k": "v"}, "# in the item", "# beside l <-", {"l": None}, "# last in the item"],
                "# last in the list",
            ]
        },
        {"i": "plain#no"},
        "# last",
    ]


def test_comments_of_several_documents_stay_apart() -> None:
    first, second = read_yaml("a: 1\n# end of one\n---\n# start of two\nb: 2\n", "a.yaml", comments=True)
    assert outline(first) == [{"a": 1}, "# end of one"]
    assert outline(second) == ["# start of two", {"b": 2}]


def test_comments_are_left_out_on_demand() -> None:
    assert read_yaml("# x\na: 1 # y\n", "a.yaml") == [{"a": 1}]


def test_a_last_line_without_a_break_is_read() -> None:
    assert outline(read("a:\n  b: 1\n  # last")) == [{"a": [{"b": 1}, "# last"]}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: !!str 12", "12"),
        ('a: !!int "12"', 12),
        ("a: !!float 3", 3.0),
        ("a: !!bool 'true'", True),
        ("a: !!null ''", None),
        ("a: !!timestamp '2024-01-02'", Timestamp("2024-01-02T00:00:00Z")),
        ("a: !!binary aGVsbG8=", "hello"),
        ("a: ! 12", 12),
        ("a: '12'", "12"),
        ("a: &x [1]\n", [1]),
        ("a: >-\n  folded\n  text\n", "folded text"),
        ("? a\n: 1", 1),
        ("a: {b: {}, c: []}", {"b": {}, "c": []}),
        ("\N{BYTE ORDER MARK}a: 1", 1),
    ],
)
def test_values(text: str, value: Any) -> None:
    (document,) = read_yaml(text, "a.yaml")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


def test_aliases_are_copies() -> None:
    (document,) = read_yaml("a: &x {b: 1}\nc: *x\nd: {<<: *x}\n", "a.yaml")
    document["a"]["b"] = 2
    assert document == {"a": {"b": 2}, "c": {"b": 1}, "d": {"<<": {"b": 1}}}


def test_an_empty_document_is_an_empty_mapping() -> None:
    assert read_yaml("---\n---\na: 1\n", "a.yaml") == [{}, {"a": 1}]
    assert read_yaml("", "a.yaml") == []


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: [\n", "line 3.* is not YAML"),
        ("a: b: c\n", "line 1.* is not YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3.*'a' twice"),
        ("1: x\n", "line 1.*key that is not a string"),
        ("a: 1\ntrue: x\n", "line 2.*key that is not a string"),
        ("2024-01-02: x\n", "key that is not a string"),
        ("[a]: x\n", "key that is not a string"),
        ("- a\n", "line 1.*not a mapping"),
        ("just text\n", "line 1.*not a mapping"),
        ("a: !custom x\n", "line 1.*tag !custom"),
        ("a: !custom [x]\n", "line 1.*tag !custom"),
        ("a: !!int x\n", "tag:yaml.org,2002:int"),
        ("a: !!binary /w==\n", "not text"),
        ("a: *missing\n", "alias \\*missing"),
        ("a: &x [*x]\n", "`\\*x` stands inside"),
        ("a: \x07\n", "characters that no YAML text may"),
        ("a: \ud800\n", "characters that no YAML text may"),
        (LAUGHS, "line [0-9]+.*unfold into too many values"),
        ("a: " + "[" * 300 + "]" * 300, "nested deeper"),
    ],
)
def test_a_mistake_is_an_error_with_its_line(text: str, says: str) -> None:
    with pytest.raises(SecretsError, match=f"a.yaml.*{says}") as caught:
        read_yaml(text, "a.yaml")
    assert caught.value.hint


def test_the_layout_is_that_of_sops() -> None:
    document = {
        Comment(" above"): None,
        "a": "x",
        "list": ["one", {"k": "v", "l": {"deep": 1}, "text": "1\n2\n"}, [1, [2]], {}, []],
        "quoted": [
            "yes",
            "12",
            "",
            "null",
            "1:30",
            "- a",
            "a: b",
            "a #b",
            " a",
            "a ",
            "'q'",
            "tab\t",
            "é",
            "\x00",
            "=",
            "<<",
        ],
        "lines": "one\ntwo",
        "odd lines": ["\nfirst", " lead\nx", "x\n\n", "x \ny"],
        "time": Timestamp("2024-01-02T00:00:00Z"),
        "n": None,
        "numbers": [1, 1.5, float("inf"), float("-inf"), float("nan")],
        Comment(" beside", inline=True): None,
        "b": True,
    }
    assert (
        write_yaml([document])
        == """\
# above
a: x
list:
    - one
    - k: v
      l:
        deep: 1
      text: |
        1
        2
    - - 1
      - - 2
    - {}
    - []
quoted:
    - "yes"
    - "12"
    - ""
    - "null"
    - "1:30"
    - '- a'
    - 'a: b'
    - 'a #b'
    - ' a'
    - 'a '
    - '''q'''
    - "tab\\t"
    - é
    - "\\0"
    - =
    - "<<"
lines: |-
    one
    two
odd lines:
    - "\\nfirst"
    - " lead\\nx"
    - "x\\n\\n"
    - "x \\ny"
time: 2024-01-02T00:00:00Z
"n": null
numbers:
    - 1
    - 1.5
    - .inf
    - -.inf
    - .nan
b: true # beside
"""
    )


def test_another_indent() -> None:
    assert write_yaml([{"a": {"b": ["x", {"c": {"d": 1}}]}}], indent=2) == (
        "a:\n  b:\n    - x\n    - c:\n        d: 1\n"
    )


def test_long_keys_take_the_long_form() -> None:
    document = {"a": {"k" * 2000: {"b": 1}, "x" * 200: "v"}}
    assert read_yaml(write_yaml([document]), "a.yaml") == [document]


def test_comments_without_a_line_of_their_own_are_moved() -> None:
    document = {
        "a": [{Comment(" in the item"): None, "k": "v"}, [Comment(" deeper"), [Comment(" deepest"), 1]]],
        "b": {Comment(" alone"): None},
        "c": {"d": {}, Comment(" after an empty one"): None},
    }
    assert outline(settled(document)) == [
        {"a": ["# in the item", [{"k": "v"}], "# deeper", "# deepest", [[1]]]},
        "# alone",
        {"b": []},
        {"c": ["# after an empty one", {"d": []}]},
    ]
    assert plain(settled(document)) == plain(document)


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["yes", "017", "1_0", "2024-01-02", "a: b", "# x", "- y", "x\ny\n", "'", '"', "|", "? x", "%"])
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@pytest.mark.slow
@given(st.lists(st.dictionaries(keys, trees, max_size=4), min_size=1, max_size=3), st.sampled_from([2, 4, 7]))
def test_what_is_written_is_read_back(documents: list[dict[str, Any]], indent: int) -> None:
    back = read_yaml(write_yaml(documents, indent), "a.yaml", comments=True)
    assert repr(back) == repr(documents)  # types and order too


comments = st.builds(Comment, st.text("abc #:-'\"", max_size=6), st.booleans())
commented = st.recursive(
    st.sampled_from(["x", 1, None, "two\nlines\n", "a #b"]),
    lambda inner: (
        st.lists(inner | comments, max_size=5)
        | st.dictionaries(st.sampled_from("abcdef") | comments, inner, max_size=5)
    ),
    max_leaves=15,
)


def ordered(value: Any) -> Any:
    """As `outline`, but without saying which comment stands behind a value."""
    if isinstance(value, Comment):
        return f"#{value.text}"
    if isinstance(value, dict):
        return [ordered(key) if isinstance(key, Comment) else {key: ordered(item)} for key, item in value.items()]
    return [ordered(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcdef") | comments, commented, min_size=1, max_size=5))
def test_comments_that_are_written_are_read_back(document: dict[Any, Any]) -> None:
    document = settled({key: None if isinstance(key, Comment) else item for key, item in document.items()})
    assert ordered(read(write_yaml([document]))) == ordered(document)
