"""Inventories broken in every way chance finds: valid, or refused with 65 and a place; never a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from talosmith.errors import InventoryError
from talosmith.inventory import check

EXAMPLES = Path(__file__).parents[3] / "examples"
SEEDS = [path.read_text() for path in sorted(EXAMPLES.glob("**/cluster.yaml")) if "extends" not in path.read_text()]
NODES = (EXAMPLES / "homelab" / "nodes.yaml").read_text()
FRAGMENTS = st.sampled_from(
    ["", ": ", "- ", "{", "}", "[", "]", "*a", "&a ", "!!int ", "|\n", "null", "~", "-1", "1e999", "true", "'", '"',
     "#", "\t", "\n", "  ", "<<: ", "---\n", "0.0.0.0/0", "::/0", "255.255.255.255", "../..", "env:",
     "extends: ../x\n", "é", "\x85"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from([*SEEDS, SEEDS[0] + NODES]))
    for _ in range(draw(st.integers(1, 6))):
        lines = text.split("\n")
        match draw(st.integers(0, 4)):
            case 0:  # a line goes
                del lines[draw(st.integers(0, len(lines) - 1))]
            case 1:  # a line comes twice, perhaps indented otherwise
                at = draw(st.integers(0, len(lines) - 1))
                lines.insert(draw(st.integers(0, len(lines))), " " * draw(st.integers(0, 4)) + lines[at])
            case 2:  # a value is another
                at = draw(st.integers(0, len(lines) - 1))
                key, colon, _ = lines[at].partition(": ")
                lines[at] = key + colon + draw(FRAGMENTS)
            case 3:  # something stands in between
                at = draw(st.integers(0, len(lines) - 1))
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(FRAGMENTS) + lines[at][cut:]
            case 4:  # any text at all
                lines.append(draw(st.text(max_size=20)))
        text = "\n".join(lines) or "a"
    return text


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(mutated())
@example(
    "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\npatches: [1.yaml]\n"
)
@example("{}")
@example("cluster_name: {a: b}\nnetwork: []\ncontrolplane: {nodes: [{}, 5, null]}\n")
def test_valid_or_refused_with_a_place(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        report = check(file)
    if report.valid:
        assert report.cluster.nodes
        return
    assert InventoryError(report.problems).exit_code == 65
    for problem in report.problems:
        assert problem.file.endswith(".yaml") and problem.line > 0 and problem.column > 0
