"""YAML words as go-yaml reads them, and the text of values as Go prints it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from talosmith.errors import SecretsError
from talosmith.model.secret import Secret
from talosmith.sops import Timestamp
from talosmith.sops.scalars import checked, from_text, text_of, type_of
from talosmith.yaml.go_words import resolve_for_sops as resolve


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("off", "off"),
        ("y", "y"),
        ("017", 15),
        ("0o17", 15),
        ("0O17", 15),
        ("08", 8.0),
        ("1_000", 1000),
        ("1__0_", 10),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0b101", 5),
        ("-0b11", -3),
        ("0b-1", -1),
        ("0o+7", 7),
        ("+12", 12),
        ("-0", 0),
        ("0x", "0x"),
        ("-", "-"),
        ("1:30", "1:30"),
        ("52:54:00:11:22:33", "52:54:00:11:22:33"),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1_0.5", 10.5),
        ("1e999", "1e999"),
        (".", "."),
        ("._5", "._5"),
        (".1_5", 0.15),
        (".1__5", ".1__5"),
        ("1.2.3", "1.2.3"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -9223372036854775809.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("<<", "<<"),
        ("ENC[AES256_GCM,data:x]", "ENC[AES256_GCM,data:x]"),
    ],
)
def test_a_word_means_what_go_yaml_makes_of_it(word: str, meaning: Any) -> None:
    assert resolve(word) == meaning
    assert type(resolve(word)) is type(meaning)


@pytest.mark.parametrize(
    ("word", "time"),
    [
        ("2024-01-02", "2024-01-02T00:00:00Z"),
        ("2024-1-2", "2024-01-02T00:00:00Z"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("2024-1-2 3:4:5", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02t03:04:05.120+02:00", "2024-01-02T03:04:05.12+02:00"),
        ("2024-01-02T03:04:05,5+00:00", "2024-01-02T03:04:05.5Z"),
        ("2024-01-02T03:04:05.1234567899Z", "2024-01-02T03:04:05.123456789Z"),
        ("0000-01-01", "0000-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_one(word: str, time: str) -> None:
    assert resolve(word) == time
    assert isinstance(resolve(word), Timestamp)


@pytest.mark.parametrize(
    "word",
    [
        "2023-02-29",
        "2024-13-01",
        "2024-00-01",
        "2024-01-02T24:00:00Z",
        "2024-01-02T03:04:05",
        "2024-01-02 03:04:05Z",
        "2024-01-02T03:60:05Z",
        "2024-01-02T03:04:05+25:00",
        "20240-01-02",
        "2024-01",
        "2024-01-02T",
    ],
)
def test_what_only_looks_like_a_time_is_text(word: str) -> None:
    assert type(resolve(word)) is str


@pytest.mark.parametrize(
    ("value", "text", "type_name"),
    [
        (True, "True", "bool"),
        (False, "False", "bool"),
        (-17, "-17", "int"),
        (1.0, "1", "float"),
        (1.5, "1.5", "float"),
        (-0.0, "-0", "float"),
        (1e21, "1000000000000000000000", "float"),
        (1e-7, "0.0000001", "float"),
        (0.1, "0.1", "float"),
        (123456789.125, "123456789.125", "float"),
        (math.inf, "+Inf", "float"),
        (-math.inf, "-Inf", "float"),
        (math.nan, "NaN", "float"),
        ("text", "text", "str"),
        (Timestamp("2024-01-02T00:00:00Z"), "2024-01-02T00:00:00Z", "time"),
    ],
)
def test_the_text_of_a_value_is_gos(value: Any, text: str, type_name: str) -> None:
    assert text_of(value) == text
    assert type_of(value) == type_name
    back = from_text(text, type_name)
    assert type(back) is type(value)
    assert back == value or back != back  # NaN


def test_the_smallest_float_has_no_exponent() -> None:
    text = text_of(5e-324)
    assert text.startswith("0.000") and text.endswith("5") and float(text) == 5e-324


@pytest.mark.parametrize(("text", "type_name"), [("x", "int"), ("maybe", "bool"), ("now", "time"), ("x", "odd")])
def test_a_text_that_is_not_of_its_type_is_refused(text: str, type_name: str) -> None:
    with pytest.raises(ValueError):
        from_text(text, type_name)


def test_python_values_become_values_of_sops() -> None:
    assert checked(Secret("hidden"), "a") == "hidden"
    assert checked(date(2024, 2, 29), "a") == Timestamp("2024-02-29T00:00:00Z")
    assert checked(datetime(2024, 2, 29, 1, 2, 3, 450000), "a") == "2024-02-29T01:02:03.45Z"
    assert checked(datetime(2024, 2, 29, tzinfo=UTC), "a") == "2024-02-29T00:00:00Z"
    ahead = timezone(timedelta(hours=5, minutes=30))
    assert checked(datetime(2024, 2, 29, tzinfo=ahead), "a") == "2024-02-29T00:00:00+05:30"
    assert isinstance(checked(datetime(2024, 2, 29, tzinfo=UTC), "a"), Timestamp)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, b"bytes", object(), {1, 2}])
def test_other_values_are_refused_by_place(value: Any) -> None:
    with pytest.raises(SecretsError, match=r"a\.b") as caught:
        checked(value, "a:b:")
    assert caught.value.hint
    assert str(value) not in str(caught.value)
