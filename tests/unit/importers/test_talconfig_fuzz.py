"""Talconfigs broken in every way chance finds: imported, or refused in words; never a traceback."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from talconfigs import save

from talosmith.cli.import_ import refusal, schematic_id
from talosmith.errors import TalosmithError
from talosmith.inventory.importers import import_talconfig, write

REAL = Path(__file__).parents[2] / "real" / "talhelper"
SEEDS = [path.read_text() for path in sorted(REAL.glob("*/talconfig.yaml"))]
FRAGMENTS = st.sampled_from(
    ["", ": ", "- ", "{", "}", "[", "]", "*a", "&a ", "|\n", "null", "-1", "1e999", "true", "'", '"', "$", "${", "$A",
     "${A:-b}", "@", "@../x", "@.", "{{", "/dev/sda", "0.0.0.0/0", "::1", "10.0.0.0/99", "é", "\x85", "\t", "a.b.c"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 70000) | st.floats() | FRAGMENTS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["ip", "name", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    lines = draw(st.sampled_from(SEEDS)).split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 3)):
            case 0:
                del lines[at]
            case 1:  # another value, of any kind
                key, colon, _ = lines[at].partition(": ")
                lines[at] = f"{key}{colon}{draw(VALUES)!r}"
            case 2:
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(FRAGMENTS) + lines[at][cut:]
            case 3:
                lines.insert(draw(st.integers(0, len(lines))), " " * draw(st.integers(0, 4)) + lines[at])
        lines = lines or [""]
    return "\n".join(lines)


@st.composite
def altered(draw: st.DrawFn) -> str:
    """Still YAML, with other values in a few places."""
    data = yaml.safe_load(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 5))):
        holder, key = draw(st.sampled_from(list(_places(data))))
        if draw(st.booleans()):
            holder[key] = draw(VALUES)
        elif isinstance(holder, dict):
            del holder[key]
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield value, key
        yield from _places(one)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(mutated() | altered())
@example("clusterName: a\nendpoint: b\nkubernetesVersion: c\nnodes: [{}, null, 5, {networkInterfaces: [{}, null]}]\n")
@example("clusterName: a\nendpoint: b\nkubernetesVersion: c\nnodes: [{machineSpec: [], schematic: {overlay: {}}}]\n")
def test_imported_or_refused_in_words(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            file = save(Path(folder), text)
            imported = import_talconfig(file, schematic_id, refusal, environment={})
            for remark in imported.remarks:
                assert remark.what and (remark.file or remark.line == 0)
            write(Path(folder) / "inventory", imported)
        except TalosmithError as refused:
            assert str(refused)
