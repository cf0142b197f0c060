from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.report.text import duration, listed, one_line, stopwatch
from tests.unit.report.stories import HOSTILE, is_tame


@given(st.text(st.characters(), max_size=60))
def test_whatever_is_said_becomes_one_harmless_line(text: str) -> None:
    line = one_line(text)
    assert is_tame(line)
    assert "\n" not in line
    line.encode()  # no half characters


def test_letters_of_all_languages_stay() -> None:
    assert one_line("Knoten „β-3“ wartet: 完成 é") == "Knoten „β-3“ wartet: 完成 é"
    assert "owned" in one_line(HOSTILE)


def test_endless_text_ends() -> None:
    assert len(one_line("x" * 10_000_000)) < 2100


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.0004, "0 s"),
        (0.04, "40 ms"),
        (0.0996, "0.1 s"),
        (0.44, "0.4 s"),
        (3.0, "3 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (100, "1 min 40 s"),
        (3599.7, "1 h"),
        (7500, "2 h 5 min"),
        (-3, "0 s"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_stopwatch_and_lists() -> None:
    assert [stopwatch(seconds) for seconds in (0, 59.9, 100, 3723)] == ["0:00", "0:59", "1:40", "1:02:03"]
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(number) for number in range(200)], 3) == "0, 1 and 198 more"
