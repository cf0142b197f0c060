"""Pictures of clusters and plans: that they show everything, once, in order, and are safe to look at."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.inventory import load
from talosmith.report.critical import without_implied
from talosmith.report.graph import Graph, as_mermaid, plan_graph, topology
from talosmith.report.graph_svg import layers_of, plan_svg, topology_svg
from tests.unit.report.stories import HOSTILE, bring_up_plan, is_tame, step

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTERS = [
    ("libvirt-ha", None),
    ("homelab", None),
    ("lab", None),
    ("aws", "production"),
    ("aws", "sandbox"),
]
SVG = "{http://www.w3.org/2000/svg}"


def rectangles(svg: str, *kinds: str) -> list[tuple[float, float, float, float]]:
    tree = ElementTree.fromstring(svg)  # noqa: S314 - our own picture
    return [
        (float(one.get("x", 0)), float(one.get("y", 0)), float(one.get("width", 0)), float(one.get("height", 0)))
        for one in tree.iter(f"{SVG}rect")
        if one.get("class") in kinds
    ]


def overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    (x, y, width, height), (x2, y2, width2, height2) = one, other
    return x < x2 + width2 and x2 < x + width and y < y2 + height2 and y2 < y + height


@pytest.mark.parametrize(("example", "environment"), CLUSTERS, ids=str)
def test_topology_shows_every_node_once_and_nothing_covers_anything(example: str, environment: str | None) -> None:
    cluster = load(EXAMPLES / example, environment)
    graph = topology(cluster)
    svg = topology_svg(graph)
    boxes = rectangles(svg, "controlplane", "worker", "endpoint")
    assert len(boxes) == len(cluster.nodes) + 1
    assert not any(overlap(one, other) for one, other in itertools.combinations(boxes, 2))
    width, height = (float(part) for part in re.findall(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', svg)[0])
    assert all(x >= 0 and y >= 0 and x + wide <= width and y + tall <= height for x, y, wide, tall in boxes)
    text = "".join(ElementTree.fromstring(svg).itertext())  # noqa: S314
    for node in cluster.nodes:
        assert node.name in text
        assert str(node.ip) in text
    assert cluster.endpoint.url in text
    assert str(cluster.network.pod_cidr) in text


def test_subnets_have_frames_of_their_own() -> None:
    cluster = load(EXAMPLES / "aws", "production")
    svg = topology_svg(topology(cluster))
    frames = rectangles(svg, "frame")
    assert len(frames) == len({node.subnet for node in cluster.nodes}) == 3
    assert not any(overlap(one, other) for one, other in itertools.combinations(frames, 2))
    boxes = rectangles(svg, "controlplane", "worker")
    inside = [
        sum(x <= bx and bx + bw <= x + w and y <= by and by + bh <= y + h for bx, by, bw, bh in boxes)
        for x, y, w, h in frames
    ]
    assert inside == [3, 3, 3]


def test_a_shared_address_is_said() -> None:
    assert "the control planes share this address" in topology(load(EXAMPLES / "libvirt-ha")).boxes[0].lines


def test_a_plan_stands_from_left_to_right_in_lanes() -> None:
    graph = plan_graph(bring_up_plan(3, 2).as_data())
    svg = plan_svg(graph)
    boxes = rectangles(svg, "none")
    assert len(boxes) == 19
    assert not any(overlap(one, other) for one, other in itertools.combinations(boxes, 2))
    place = {one.id: rectangle for one, rectangle in zip(graph.boxes, boxes, strict=True)}
    for begin, end in graph.edges:
        assert place[begin][0] + place[begin][2] < place[end][0]
    heights = {lane: {place[one.id][1] for one in graph.boxes if one.lane == lane} for lane in ("cp-1", "w-2")}
    assert all(len(found) == 1 for found in heights.values())


def test_what_a_step_disturbs_is_seen_in_a_plan() -> None:
    plan = dataclasses.replace(
        bring_up_plan(1, 0), steps=(step("node/cp-1/reboot", "cp-1", "reboot node", disruption="reboot"),)
    )
    svg = plan_svg(plan_graph(plan.as_data()))
    assert len(rectangles(svg, "reboot")) == 1
    assert ">reboot<" in svg


def test_the_same_graph_is_the_same_picture_and_plan_files_are_plans() -> None:
    plan = bring_up_plan()
    first, second = plan_graph(plan.as_data()), plan_graph(json.loads(json.dumps(plan.as_data())))
    assert plan_svg(first) == plan_svg(second)
    assert as_mermaid(first) == as_mermaid(second)


@given(st.data())
def test_needs_that_others_imply_are_left_out_and_no_other(data: st.DataObject) -> None:
    needs: dict[str, list[str]] = {}
    for number in range(data.draw(st.integers(1, 9))):
        needs[str(number)] = data.draw(st.lists(st.sampled_from(sorted(needs)), unique=True)) if needs else []

    def behind(key: str, edges: dict[str, list[str]]) -> set[str]:
        return {found for need in edges[key] for found in (need, *behind(need, edges))}

    kept = without_implied(needs)
    for key in needs:
        assert behind(key, kept) == behind(key, needs)
        for need in kept[key]:
            assert not any(need in behind(other, needs) for other in kept[key])


def test_layers_count_what_stands_before() -> None:
    graph = plan_graph(bring_up_plan(1, 1).as_data())
    layers = layers_of(graph)
    assert layers["machine/cp-1"] == layers["machine/w-1"] == 0
    assert layers["etcd/bootstrap"] == 2
    assert layers["cluster/health"] == 5


def test_mermaid_has_every_box_and_edge() -> None:
    text = as_mermaid(plan_graph(bring_up_plan(1, 1).as_data()))
    lines = text.splitlines()
    assert lines[:4] == ["---", 'title: "up dev: 10 steps"', "---", "flowchart LR"]
    assert '  subgraph g0["cp-1"]' in lines
    assert '    n0["create its machine"]:::none' in lines
    assert "  n0 --> n1" in lines
    assert lines.count("  end") == 2
    assert as_mermaid(topology(load(EXAMPLES / "lab"))).splitlines()[3] == "flowchart TB"


def test_foreign_words_stay_words() -> None:
    plan = dataclasses.replace(bring_up_plan(cluster=HOSTILE), steps=(step("a/b", HOSTILE, HOSTILE),))
    graph = plan_graph(plan.as_data())
    ids = dataclasses.replace(graph.boxes[0], id=HOSTILE, kind="worker")
    for svg in (plan_svg(graph), topology_svg(Graph(title=HOSTILE, boxes=(ids,), edges=(), notes=(HOSTILE,)))):
        assert is_tame(svg)
        assert "owned" in svg
        tags = {one.tag for one in ElementTree.fromstring(svg).iter()}  # noqa: S314
        assert f"{SVG}script" not in tags
    mermaid = as_mermaid(graph)
    assert is_tame(mermaid)
    assert "<script" not in mermaid.split("---")[2]
    (box,) = [line for line in mermaid.splitlines() if ":::none" in line]
    assert re.fullmatch(r' *n0\["[^"<>]*"\]:::none', box)


def test_two_hundred_nodes_are_drawn_in_a_moment() -> None:
    graph = plan_graph(bring_up_plan(3, 200).as_data())
    assert len(rectangles(plan_svg(graph), "none")) == 613


def test_no_boxes_is_no_error() -> None:
    empty = Graph(title="nothing", boxes=(), edges=())
    for draw in (plan_svg, topology_svg):
        ElementTree.fromstring(draw(empty))  # noqa: S314
    assert as_mermaid(empty).splitlines()[-1] == "flowchart LR"
