"""The YAML emitter against the real one: what talosctl reads and writes again has our bytes.

`machine.kubelet.extraConfig` takes any map and keeps it, so everything goes through there, much at a time.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from config_peer import TALOSCTLS, Talosctl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from talosmith.yaml import goyaml

CONFIG = """\
version: v1alpha1
machine:
    type: worker
    kubelet: {}
cluster:
    controlPlane:
        endpoint: https://10.0.0.1:6443
"""
HEAD = "machine:\n    kubelet:\n        extraConfig:\n"

# Everything that quoting depends on, in all pairs: as text that means something, at the start, at the end, between.
PIECES = (
    *("y", "N", "yes", "no", "on", "OFF", "null", "~", "true", "False", "<<", "=", "inf", ".inf", "-.INF", ".nan"),
    *(
        "0x1f",
        "0o17",
        "0b11",
        "012",
        "08",
        "1_000",
        "1e3",
        "1:30",
        "1.5",
        ".5",
        "-",
        "+",
        "_",
        ".",
        "e",
        "---",
        "...",
    ),
    *("2001-12-14", "T", "t", "21:59:43", "Z", "+05:00", ",5", " ", "  ", "\t", "\n", "\n\n", "\r", "\x85", "\u2028"),
    *(
        "\u2029",
        "\ufeff",
        "\ufffe",
        "\0",
        "\a",
        "\x1b",
        "\x7f",
        "\xa0",
        "é",
        "中",
        "😀",
        "'",
        '"',
        "\\",
        ":",
        "#",
        "?",
    ),
    *(
        "%",
        "@",
        "`",
        "!",
        "&",
        "*",
        "|",
        ">",
        "{",
        "}",
        "[",
        "]",
        ",",
        "a",
        "word",
        "x" * 130,
        "18446744073709551616",
    ),
)
Echo = Callable[[str], str]


def in_flow(value: Any) -> str:
    """The value as JSON whose escapes are YAML's too: how it gets to talosctl without the emitter under test."""

    def whole(pair: re.Match[str]) -> str:
        high, low = int(pair[1], 16), int(pair[2], 16)
        return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"

    return re.sub(r"\\u(d[89ab]..)\\u(d[c-f]..)", whole, json.dumps(value))


@pytest.fixture(scope="module", params=TALOSCTLS)
def echo(
    peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Echo:
    """What talosctl writes for the map that a patch puts into a config."""
    folder = tmp_path_factory.mktemp("goyaml")
    config, patch, result = folder / "config.yaml", folder / "patch.yaml", folder / "result.yaml"
    config.write_text(CONFIG)
    talosctl = peer(request.param)
    quotes = Talosctl(talosctl)

    def through_talosctl(patch_text: str) -> str:
        patch.write_text(patch_text, newline="")
        command: list[str | Path] = [
            talosctl,
            "machineconfig",
            "patch",
            config,
            "--patch",
            f"@{patch}",
            "--output",
            result,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        written = quotes.written(result.read_bytes().decode())
        start = written.index("        extraConfig:\n") + len("        extraConfig:\n")
        return written[start : written.index("\ncluster:\n", start) + 1]

    return through_talosctl


def expected(value: dict[str, Any], *, exact: bool) -> str:
    text = goyaml.dump({"machine": {"kubelet": {"extraConfig": goyaml.sort_keys(value)}}}, exact=exact)
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD)


def compare(echo: Echo, value: dict[str, Any]) -> None:
    real = echo(f'{{"machine": {{"kubelet": {{"extraConfig": {in_flow(value)}}}}}}}')
    assert expected(value, exact=True) == real
    # And our own form, hints made right, says the same to talosctl.
    assert echo(HEAD + expected(value, exact=False)) == real


def test_all_pairs_of_pieces_as_values_of_a_map(echo: Echo) -> None:
    texts = [*PIECES, "", *map("".join, itertools.product(PIECES, repeat=2))]
    assert len(texts) > 5000
    compare(echo, {f"k{number:05d}": text for number, text in enumerate(texts)})


def test_all_pairs_of_pieces_as_items_of_a_list_and_as_keys(echo: Echo) -> None:
    texts = [*PIECES, "", *map("".join, itertools.product(PIECES, repeat=2))]
    # Runs of more than 18 digits overflow in go-yaml's order of keys, and then there is no order to compare.
    keys = dict.fromkeys(text for text in texts if "18446744073709551616" not in text)
    compare(
        echo, {"items": texts, "keys": keys, "deep": [[texts[:500]], {"list": [{"map": {"list": texts[500:900]}}]}]}
    )


def test_pieces_in_the_middle_of_lines(echo: Echo) -> None:
    texts = [f"first{a}second{b}third" for a, b in itertools.product(PIECES, repeat=2)]
    compare(echo, {"items": texts, "map": dict(zip(map(str, range(len(texts))), texts, strict=True))})


alphabet = st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\n  \t:#-'\"0123456789.e")
texts = st.text(alphabet, max_size=15) | st.sampled_from(PIECES)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
# The order of keys depends on what is a letter: only such that every version of Unicode knows.
keys = st.text("ab12 9.-_:#é\n", max_size=6)
values = st.recursive(
    texts | numbers | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(values, min_size=20, max_size=60))
def test_random_structures(echo: Echo, items: list[Any]) -> None:
    compare(echo, {"items": items})
