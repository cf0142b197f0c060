"""Imported talconfigs render to what the real talhelper renders, up to the differences that are listed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml
from talconfig_generator import FILES, VERSIONS, generate
from talhelper_compare import CASES, HERE, ComparedNode, Difference, Tools

KNOWN: Mapping[str, Mapping[str, str]] = yaml.safe_load((HERE / "differences.yaml").read_text())


@pytest.fixture(scope="module")
def tools(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools.make(peer("talosctl-1.13"), peer("talhelper"), tmp_path_factory.mktemp("talhelper"))


@pytest.fixture(scope="module")
def compared(tools: Tools) -> dict[str, list[ComparedNode]]:
    return {case: tools.compare(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_every_node_has_talhelpers_config(case: str, compared: dict[str, list[ComparedNode]]) -> None:
    assert compared[case]
    unexplained = {
        node.name: [one for one in node.differences if not one.is_explained_by(KNOWN)] for node in compared[case]
    }
    assert not any(unexplained.values()), unexplained


def test_every_listed_difference_is_explained_and_occurs(compared: dict[str, list[ComparedNode]]) -> None:
    found = {one.path for nodes in compared.values() for node in nodes for one in node.differences}
    assert {path for path, entry in KNOWN.items() if not entry["why"]} == set()
    assert set(KNOWN) - found == set(), "these are listed and no longer occur"


@pytest.mark.parametrize("case", CASES)
def test_talosctl_takes_both_configs(case: str, tools: Tools, compared: dict[str, list[ComparedNode]]) -> None:
    for node in compared[case]:
        assert tools.validate(node.theirs) == ""
        assert tools.validate(node.ours) == ""


@pytest.mark.parametrize("static", [True, False], ids=["static", "mixed"])
@pytest.mark.parametrize(("seed", "talos"), list(enumerate(VERSIONS)))
def test_generated_talconfigs(seed: int, talos: str, static: bool, tools: Tools, tmp_path: Path) -> None:
    data = generate(seed, talos, static=static)
    (tmp_path / "talconfig.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    nodes = tools.compare_in(tmp_path)
    assert len(nodes) == len(data["nodes"])
    assert ("node_cidr" in (tmp_path / "imported" / "cluster.yaml").read_text()) is static
    unexplained = {node.name: [one for one in node.differences if not one.is_explained_by(KNOWN)] for node in nodes}
    assert not any(unexplained.values()), unexplained


def test_a_lost_patch_would_be_noticed(tools: Tools, compared: dict[str, list[ComparedNode]], tmp_path: Path) -> None:
    """The comparison itself is put to the test: without one of the written patches it must find a difference."""
    work = tools.folder / "mixed"
    files = sorted((work / "imported").glob("patches/**/*.yaml"))
    named = {path.relative_to(work / "imported").as_posix() for path in files}
    assert {"patches/global/00-talconfig.yaml", "patches/nodes/w1.yaml", "patches/shared/00-global.yaml"} <= named
    for file in ("patches/global/00-talconfig.yaml", "patches/nodes/w1.yaml"):
        inventory = tmp_path / file.replace("/", "-")
        shutil.copytree(work / "imported", inventory)
        (inventory / file).unlink()
        found: list[Difference] = [one for node in tools.rendered(work, inventory) for one in node.differences]
        assert [one for one in found if not one.is_explained_by(KNOWN)], file
