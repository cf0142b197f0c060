"""The YAML emitter on its own: forms that go-yaml is known to give, and that all of it reads back."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from talosmith.errors import TalosmithError
from talosmith.yaml import goyaml

# Forms seen in what go-yaml v4 writes.
SCALARS = [
    ("", '""'),
    ("plain text, with: no", "'plain text, with: no'"),
    ("a:b", "a:b"),
    ("a:", "'a:'"),
    ("a #b", "'a #b'"),
    ("a#b", "a#b"),
    ("- a", "'- a'"),
    ("-a", "-a"),
    ("-", "'-'"),
    ("---", "'---'"),
    ("...x", "'...x'"),
    ("it's", "it's"),
    ("'it", "'''it'"),
    (" lead", "' lead'"),
    ("trail ", "'trail '"),
    ("tab\there", '"tab\\there"'),
    ("bell\a", '"bell\\a"'),
    ("cr\r", '"cr\\r"'),
    ("nel\x85", '"nel\\N"'),
    ("del\x7f", '"del\\x7F"'),
    ("\ufeffa 1", '"\\uFEFF\\x61\\x20\\x31"'),
    ("a\ufeff1", '"a\\uFEFF1"'),
    ("😀", '"\\U0001F600"'),
    ("größe 中", "größe 中"),
    ("nbsp\xa0", "nbsp\xa0"),
    *((word, f"'{word}'") for word in ("y", "N", "yes", "No", "ON", "off", "<<")),
    *((word, f'"{word}"') for word in ("true", "FALSE", "null", "~")),
    *((word, word) for word in ("yEs", "nULL", "TrUe", "none", "=", "inf", "nan")),
    *(
        (text, f'"{text}"')
        for text in ("0x1f", "-0b11", "0o17", "012", "08", "1_000", "1e3", "+.5", ".5", "1.", "-0")
    ),
    *((text, text) for text in ("0x", "1e999", "0x1ffffffffffffffff", "-0x8000000000000001", "_1", "1__a", "1.2.3")),
    *((text, f'"{text}"') for text in (".inf", "-.INF", ".NaN")),
    *((text, f"'{text}'") for text in ("1:30", "-1:59:59.5", "190:20:30")),
    *((text, text) for text in ("1:60", ".Nan", "+.nan")),
    *((text, f'"{text}"') for text in ("2001-12-14", "2001-1-1", "2024-02-29", "2001-12-14T21:59:43.10-05:00")),
    *((text, f'"{text}"') for text in ("2001-12-14t1:2:3Z", "2001-12-14 21:59:43", "2001-12-14  21:59:43,5")),
    *((text, text) for text in ("2001-13-01", "2023-02-29", "2001-12-14T21:59:43", "2001-12-14 24:00:00")),
    ("x" * 500 + " " + "y" * 500, "x" * 500 + " " + "y" * 500),
    ("sep\u2028arated", "'sep\u2028    arated'"),
    ("sep\u2028 arated", '"sep\\L arated"'),
    ("two\nlines", "|-\n    two\n    lines"),
    ("two\nlines\n", "|\n    two\n    lines"),
    ("two\n\nlines\n\n", "|+\n    two\n\n    lines\n"),
    ("\nlead", "|-\n\n    lead"),
    ("tab\n\tinside", "|-\n    tab\n    \tinside"),
    ("space \nbefore", '"space \\nbefore"'),
    ("emoji\n😀", '"emoji\\n\\U0001F600"'),
    ("\n", '"\\n"'),
    (" \n ", '" \\n "'),
]


@pytest.mark.parametrize(("text", "form"), SCALARS, ids=range(len(SCALARS)))
def test_text_has_the_form_go_yaml_gives_it(text: str, form: str) -> None:
    assert goyaml.dump({"key": text}, exact=True) == f"key: {form}\n"


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, "null"),
        (True, "true"),
        (-5, "-5"),
        (18446744073709551615, "18446744073709551615"),
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (123456.0, "123456"),
        (1234567.0, "1.234567e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-300, "1.5e-300"),
        (float("inf"), ".inf"),
        (float("-inf"), "-.inf"),
        (float("nan"), ".nan"),
        ({}, "{}"),
        ([], "[]"),
        ((), "[]"),
    ],
)
def test_other_values(value: Any, form: str) -> None:
    assert goyaml.dump({"key": value}) == f"key: {form}\n"
    assert goyaml.dump(value) == f"{form}\n"


def test_indentation_of_everything_in_everything() -> None:
    document = {
        "map": {"deep": {"er": 1}},
        "list": ["a", {"k": "v", "l": ["x"], "m": {"n": {"o": []}}}, [["b"], [], {"p": "two\nlines"}], "t\nu"],
        "k" * 129: {"value": ["beside"]},
        "many\nlines": "short",
        7: None,
    }
    assert goyaml.dump(document) == (
        "map:\n"
        "    deep:\n"
        "        er: 1\n"
        "list:\n"
        "    - a\n"
        "    - k: v\n"
        "      l:\n"
        "        - x\n"
        "      m:\n"
        "        'n':\n"
        "            o: []\n"
        "    - - - b\n"
        "      - []\n"
        "      - p: |-\n"
        "            two\n"
        "            lines\n"
        "    - |-\n"
        "      t\n"
        "      u\n"
        f"? {'k' * 129}\n"
        ":   value:\n"
        "        - beside\n"
        "? |-\n"
        "    many\n"
        "    lines\n"
        ": short\n"
        "7: null\n"
    )


def test_documents_are_parted_by_dashes() -> None:
    assert goyaml.dump_all([{"a": 1}, {"b": []}]) == "a: 1\n---\nb: []\n"


def test_members_of_enumerations_are_their_text() -> None:
    class Kind(str, Enum):  # noqa: UP042 the older form, whose members do not print as their text
        WORKER = "worker"
        NO = "no"

    assert goyaml.dump({Kind.NO: Kind.WORKER, "kinds": [Kind.NO]}) == "'no': worker\nkinds:\n    - 'no'\n"


def test_tuples_and_read_only_maps_are_lists_and_maps() -> None:
    assert goyaml.dump(MappingProxyType({"a": (1, MappingProxyType({"b": 2}))})) == "a:\n    - 1\n    - b: 2\n"


def test_a_block_that_starts_with_blanks_gets_the_hint_that_makes_it_readable() -> None:
    text = "  indented\nnot\n"
    document = {"list": [text, {"key": text}], "key": text}
    exact, readable = goyaml.dump(document, exact=True), goyaml.dump(document)
    assert exact.count("|4\n") == 3
    assert [readable.count(f"|{hint}\n") for hint in (2, 4)] == [2, 1]
    assert yaml.safe_load(readable) == document
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(exact)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(TalosmithError, match="surrogate") as caught:
        goyaml.dump({"key": "secret\ud800value"})
    assert "secret" not in str(caught.value)


def test_a_value_of_an_unknown_type_is_refused_without_showing_it() -> None:
    with pytest.raises(TypeError, match="object") as caught:
        goyaml.dump({"key": [object()]})
    assert "0x" not in str(caught.value)


def test_maps_without_a_schema_are_sorted_with_an_eye_for_numbers() -> None:
    keys = ["a10", "a9", "a", "B", "a-b", "ab", "a1b", "a01", "_", "10", "9", "é", "a1.b", "a1b2"]
    assert list(goyaml.sort_keys(dict.fromkeys(keys))) == [
        "_", "9", "10", "B", "a", "a-b", "a1b", "a1b2", "a1.b", "a01", "a9", "a10", "ab", "é",
    ]  # fmt: skip
    assert goyaml.sort_keys([{"b": [{"d": 1, "c": 2}], "a": 3, 2: 4, 1: 5}]) == [
        {1: 5, 2: 4, "a": 3, "b": [{"c": 2, "d": 1}]}
    ]
    assert list(goyaml.sort_keys({"b": 1, "a": 2, 2: 3, 1: 4})) == [1, 2, "a", "b"]


# PyYAML's scanner wants no unpaired halves, and this loader gives every scalar as the text it stands for.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(" \n\t\u2028ab:#-'\"", max_size=10)
values = st.recursive(
    texts, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


@pytest.mark.slow
@given(values)
def test_everything_reads_back(value: Any) -> None:
    assert yaml.load(goyaml.dump(value), Loader=yaml.BaseLoader) == value  # noqa: S506 it makes text only
