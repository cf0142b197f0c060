"""README's first screen is what the commands print: `python -m tools.screen` writes it."""

from __future__ import annotations

import pytest

from tools import screen


@pytest.mark.slow
def test_the_screen_is_current() -> None:
    shown = screen.in_readme()
    assert screen.without_times(screen.record()) == screen.without_times(shown), "run `python -m tools.screen`"
    assert max(map(len, shown.splitlines())) <= 100


def test_only_times_and_ids_are_left_out() -> None:
    shown = screen.in_readme()
    assert screen.without_times(shown.replace("machine", "device")) != screen.without_times(shown)
    assert screen.without_times("done in 3.3 s") == screen.without_times("done in 12 s")
