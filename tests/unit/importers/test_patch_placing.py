"""Patches find their places: as wide as they are meant, and never before one that they must come after."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talconfigs import do_import, do_load, entry, talconfig

from talosmith.inventory.importers.placing import Change, Scope, name_for, overlap, place, touched_by
from talosmith.inventory.importers.yaml_text import dump
from talosmith.inventory.parse import parse
from talosmith.model.cluster import Role

ROLES: dict[str, Role] = {"cp-1": "controlplane", "cp-2": "controlplane", "w-1": "worker", "w-2": "worker"}
SUBSETS = [frozenset(names) for names in (["cp-1"], ["cp-2"], ["w-1"], ["cp-1", "w-2"], ["w-1", "w-2", "cp-2"])]


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    made = []
    for number in range(draw(st.integers(1, 8))):
        scope: Scope = draw(st.sampled_from(["global", "controlplane", "worker", "nodes"]))
        if scope == "nodes":
            nodes = draw(st.sampled_from(SUBSETS))
        else:
            nodes = frozenset(name for name, role in ROLES.items() if scope in ("global", role))
        paths = draw(st.sets(st.sampled_from([("/", "a"), ("/", "a", "b"), ("/", "c"), ("K/x",)]), min_size=1))
        made.append(Change(f"n{number}", str(number), scope, nodes, frozenset(paths)))
    return made


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(changes())
def test_every_node_gets_its_patches_in_an_order_that_comes_to_the_same(given_changes: list[Change]) -> None:
    placed = place(given_changes, ROLES)

    def text(path: str) -> str:
        return placed.files[path].splitlines()[-1]

    for node, role in ROLES.items():
        # The order of docs/inventory.md: folders by name, and after each what is named at its place.
        applied = [text(path) for path in sorted(placed.files) if path.startswith("patches/global/")]
        applied += [text(path) for path in sorted(placed.files) if path.startswith(f"patches/{role}/")]
        applied += [text(path) for path in placed.role_patches.get(role, ())]
        applied += [text(path) for path in placed.files if path == f"patches/nodes/{node}.yaml"]
        applied += [text(path) for path in placed.node_patches.get(node, ())]
        wanted = [change for change in given_changes if node in change.nodes]
        assert sorted(applied) == sorted(change.text for change in wanted)
        for later, change in enumerate(wanted):
            for before in wanted[:later]:
                if overlap(before.touched, change.touched):
                    assert applied.index(before.text) < applied.index(change.text)


def test_what_touches_nothing_else_stays_where_it_is_meant() -> None:
    apart = [
        Change("a", "a", "nodes", frozenset({"cp-1"}), frozenset({("/", "a")})),
        Change("b", "b", "worker", frozenset({"w-1", "w-2"}), frozenset({("/", "b")})),
        Change("c", "c", "global", frozenset(ROLES), frozenset({("/", "c")})),
    ]
    placed = place(apart, ROLES)
    assert set(placed.files) == {"patches/nodes/cp-1.yaml", "patches/worker/00-b.yaml", "patches/global/00-c.yaml"}
    assert not placed.role_patches and not placed.node_patches


def test_what_a_patch_touches() -> None:
    touched = touched_by(
        [
            {"machine": {"env": {"A": "b"}, "files": [{"path": "/a"}], "sysctls": {"$patch": "delete"}}},
            {"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0", "mtu": 1500},
            [
                {"op": "add", "path": "/machine/network/interfaces/0/mtu"},
                {"op": "move", "from": "/a~1b", "path": "/c"},
            ],
        ]
    )
    assert touched == {
        ("/", "machine", "env", "A"),
        ("/", "machine", "files"),
        ("/", "machine", "sysctls"),
        ("LinkConfig/eth0", "mtu"),
        ("/", "machine", "network", "interfaces"),
        ("/", "a/b"),
        ("/", "c"),
    }
    assert overlap(touched, frozenset({("/", "machine", "network")}))
    assert not overlap(touched, frozenset({("/", "machine", "kubelet"), ("LinkConfig/eth1", "mtu")}))


def test_files_are_named_after_what_they_are_about() -> None:
    assert name_for(touched_by([{"machine": {"nodeLabels": {"a": "b"}}}])) == "machine-node-labels"
    assert name_for(touched_by([{"kind": "UserVolumeConfig", "name": "data", "a": 1}])) == "user-volume-config-data"
    assert name_for(touched_by([{"op": 1}])) == "op"


ENV = "machine:\n  env:\n    A: {}\n"


def test_talhelpers_order_is_kept(tmp_path: Path) -> None:
    """It applies the patches of all nodes last, after the groups' and the nodes' own."""
    data = talconfig(
        patches=[ENV.format("global"), "machine:\n  sysctls:\n    b: '1'\n"],
        controlPlane={"patches": [ENV.format("group")]},
        nodes={0: {"patches": [ENV.format("node")]}},
    )
    cluster = do_load(tmp_path, data)
    texts = [[patch.text or "" for patch in cluster.patches_for(node)] for node in cluster.nodes]
    said = [[text.split("A: ")[1].strip() for text in of_node if "A: " in text] for of_node in texts]
    assert said == [["group", "node", "global"], ["global"]]
    names = [Path(patch.source).name for patch in cluster.patches]
    assert names[-1].endswith("machine-sysctls.yaml"), "what nobody else touches stays for all nodes"


def test_a_node_may_put_its_patches_in_the_place_of_its_groups(tmp_path: Path) -> None:
    group = {"patches": [ENV.format("group")], "extraManifests": ["e.yaml"], "certSANs": ["group.lan"]}
    (tmp_path / "e.yaml").write_text("apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n")
    overrides = {"overridePatches": True, "overrideExtraManifests": True, "overrideMachineCertSANs": True}
    data = talconfig(worker=group, nodes={1: overrides})
    data["nodes"] += [
        data["nodes"][1] | {"hostname": "w-2", "ipAddress": "10.0.0.22", "patches": [ENV.format("own")],
                            "certSANs": ["own.lan"], "extraManifests": []},
        data["nodes"][1] | {"hostname": "w-3", "ipAddress": "10.0.0.23", "overridePatches": False,
                            "patches": [ENV.format("own")]},
    ]  # fmt: skip
    imported = do_import(tmp_path, data)
    assert imported.complete, imported.remarks

    def texts(name: str) -> str:
        own = imported.files.get(f"patches/nodes/{name}.yaml", "")
        return own + "".join(imported.files[path] for path in entry(imported, name).get("patches", ()))

    # Without patches of its own a node has its group's, whatever it says.
    assert [("A: group" in texts(name), "A: own" in texts(name)) for name in ("w-1", "w-2", "w-3")] == [
        (True, False), (False, True), (True, True),
    ]  # fmt: skip
    assert texts("w-3").index("A: group") < texts("w-3").index("A: own")
    assert ["WatchdogTimerConfig" in texts(name) for name in ("w-1", "w-2", "w-3")] == [True, False, True]
    assert ["group.lan" in texts(name) for name in ("w-1", "w-2", "w-3")] == [True, False, True]
    assert "own.lan" in texts("w-2")


def test_an_empty_patch_file_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("\n  \n# only a comment\n")
    imported = do_import(tmp_path, talconfig(patches=["@empty.yaml"]))
    assert imported.complete
    assert not any("empty" in path for path in imported.files)


def test_a_group_without_nodes_is_told(tmp_path: Path) -> None:
    data = talconfig(worker={"patches": [ENV.format("x")]})
    del data["nodes"][1]
    imported = do_import(tmp_path, data)
    assert [(one.path, one.left_out) for one in imported.remarks] == [("worker.patches[0]", False)]


@pytest.mark.parametrize("start", ["|", "|+", "|-", ">", "|2"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n# a comment"])
@pytest.mark.parametrize("in_file", [False, True])
def test_a_block_scalar_at_the_end_keeps_its_last_line(start: str, end: str, in_file: bool, tmp_path: Path) -> None:
    """A line break after it would be one more character of what it holds."""
    text = f"machine:\n  sysctls:\n    a: {start}\n      b{end}"
    (tmp_path / "p.yaml").write_text(text)
    imported = do_import(tmp_path, talconfig(patches=["@p.yaml" if in_file else text]))
    (written,) = [patch for patch in imported.files.values() if "# From" in patch]
    assert parse(written.encode(), "").data == parse(text.encode(), "").data


@pytest.mark.parametrize("text", ["a\nb", "a\nb\n", "a\n\n", "\n", "a\x85b", "a\u2028b\n", " a\n b"])
def test_text_is_read_back_as_it_was(text: str) -> None:
    assert parse(dump({"k": text, "z": [text]}).encode(), "").data == {"k": text, "z": [text]}
