"""Nothing is dropped silently: each thing that an inventory cannot say is told, with its place and a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from talconfigs import do_import, left_out, notes, save, talconfig

from talosmith.cli.import_ import refusal, schematic_id
from talosmith.errors import InventoryError
from talosmith.inventory.importers import import_talconfig

TEXT = """\
clusterName: home
talosVersion: v1.13.4
kubernetesVersion: v1.35.2
endpoint: https://10.0.0.5:6443
nodes:
  - hostname: cp-1
    ipAddress: 10.0.0.11
    controlPlane: true
    installDisk: /dev/sda
    nodeLabls: {a: b}
    schematic:
      customisation: {}
"""


def test_a_plain_talconfig_is_understood(tmp_path: Path) -> None:
    imported = do_import(tmp_path, talconfig())
    assert imported.complete
    assert imported.remarks == ()


def test_unknown_keys_are_told_with_their_lines(tmp_path: Path) -> None:
    found = left_out(do_import(tmp_path, TEXT))
    assert [(one.path, one.line, one.fix) for one in found] == [
        ("nodes[0].nodeLabls", 10, "did you mean `nodeLabels`?"),
        ("nodes[0].schematic.customisation", 12, "did you mean `customization`?"),
    ]
    assert all(one.file.endswith("talconfig.yaml") for one in found)


@pytest.mark.parametrize(
    ("node", "path", "what"),
    [
        ({"nodeLabels": ["a"]}, "nodes[0].nodeLabels", "this is not a mapping of names to text"),
        ({"nodeLabels": {"a": {"b": "c"}}}, "nodes[0].nodeLabels.a", "this is not text"),
        ({"patches": "machine: {}"}, "nodes[0].patches", "this is not a list"),
        ({"patches": [{"machine": {}}]}, "nodes[0].patches[0]", "this is not text"),
        ({"networkInterfaces": [{"mtu": "much"}]}, "nodes[0].networkInterfaces[0].mtu", "this is not a whole number"),
        ({"networkInterfaces": [{"dhcp": "perhaps"}]}, "nodes[0].networkInterfaces[0].dhcp",
         "this is not true or false"),
        ({"networkInterfaces": {"interface": "eth0"}}, "nodes[0].networkInterfaces", "this is not a list"),
        ({"schematic": "abc"}, "nodes[0].schematic", "this is not a mapping"),
        ({"machineSpec": {"arch": "riscv"}}, "nodes[0].machineSpec.arch",
         "`riscv` is no architecture that Talos has"),
        ({"machineFiles": [{"content": "x", "permissions": "rw", "path": "/a", "op": "create"}]},
         "nodes[0].machineFiles[0].permissions", "this is not a file mode"),
        ({"nodeLabels": {"image": "{{ .MachineConfig.MachineInstall.InstallImage }}"}}, "nodes[0].nodeLabels.image",
         "the value is a template"),
        ({"nodeAnnotations": {"a": "{{ .X }}"}}, "nodes[0].nodeAnnotations.a", "the value is a template"),
        ({"patches": ["machine:\n  env:\n    A: {{ .B }}\n"]}, "nodes[0].patches[0]", "this patch is a template"),
        ({"schematic": {"owner": "me"}}, "nodes[0].schematic.owner", "the owner of a schematic is not known here"),
        ({"volumes": [{"name": "EPHEMERAL", "provisioning": {"maxSize": "big"}}]}, "nodes[0].volumes",
         "this does not make a config that Talos takes"),
        ({"patches": ["machine:\n  nonsense: true\n"]}, "nodes[0].patches[0]",
         "this patch is not one that Talos takes"),
        ({"patches": ["machine: [\n"]}, "nodes[0].patches[0]", "this patch cannot be read: not valid YAML"),
        ({"patches": ["machine: !!python/object:os.system {}\n"]}, "nodes[0].patches[0]",
         "this patch cannot be read: the tag"),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_left_out_and_told(node: dict[str, Any], path: str, what: str, tmp_path: Path) -> None:
    (remark,) = left_out(do_import(tmp_path, talconfig(nodes={0: node})))
    assert remark.path == path
    assert remark.what.startswith(what)
    assert remark.line > 0


@pytest.mark.parametrize(
    ("top", "path", "what"),
    [
        ({"talosVersion": None}, "talosVersion", "the version of Talos is not given"),
        ({"cniConfig": {"name": "cilium"}}, "cniConfig.name", "`cilium` is no network that an inventory knows"),
        ({"imageFactory": {"installerURLTmpl": "{{ upper .ID }}:{{ .Version }}"}}, "imageFactory.installerURLTmpl",
         "the template of the installer's address is not understood"),
        ({"patches": ["kind: NoSuchConfig\napiVersion: v1alpha1\n"]}, "patches[0]",
         "this patch is not one that Talos takes"),
        ({"inlineManifests": [{"name": "a", "contents": "@missing.yaml"}]}, "inlineManifests[0]",
         "the file missing.yaml does not exist"),
    ],
)  # fmt: skip
def test_the_same_for_the_cluster(top: dict[str, Any], path: str, what: str, tmp_path: Path) -> None:
    (remark,) = left_out(do_import(tmp_path, talconfig(**top)))
    assert remark.path == path
    assert remark.what.startswith(what)


@pytest.mark.parametrize("name", ["../../x.yaml", "../secret.yaml", "/etc/hostname", "link.yaml", ".", "a\0b"])
def test_files_outside_of_the_folder_are_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("machine: {env: {A: outside}}\n")
    folder = tmp_path / "talos"
    folder.mkdir()
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    files = [{"content": f"@{name}", "permissions": 0o644, "path": "/var/a", "op": "create"}]
    data = talconfig(
        nodes={0: {"patches": [f"@{name}"], "machineFiles": files, "extraManifests": [name]}},
        inlineManifests=[{"name": "a", "contents": f"@{name}"}],
    )
    imported = do_import(folder, data)
    found = left_out(imported)
    assert {one.path for one in found} == {
        "nodes[0].patches[0]", "nodes[0].machineFiles[0]", "nodes[0].extraManifests[0]", "inlineManifests[0]",
    }  # fmt: skip
    assert all("is not inside the folder that is imported from" in one.what for one in found)
    assert "outside" not in "".join(imported.files.values())


def test_a_pipe_and_a_folder_are_not_read(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    found = left_out(do_import(tmp_path, talconfig(patches=["@pipe.yaml", "@folder.yaml"])))
    assert [one.what for one in found] == [
        "the file pipe.yaml is a named pipe (FIFO), not a regular file",
        "the file folder.yaml is a folder, not a regular file",
    ]


def test_a_file_that_is_too_large_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(b"# " + b"x" * (5 << 20))
    (remark,) = left_out(do_import(tmp_path, talconfig(patches=["@large.yaml"])))
    assert "larger than 4 MiB" in remark.what


def test_a_template_in_a_file_is_told_with_the_files_line(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("machine:\n  env:\n    A: {{ .B }}\n")
    (remark,) = left_out(do_import(tmp_path, talconfig(patches=["@p.yaml"])))
    assert (remark.path, remark.line) == ("patches[0]", 3)
    assert remark.file.endswith("p.yaml")


def test_what_only_talhelper_needs_is_told_but_no_loss(tmp_path: Path) -> None:
    node = {
        "noSchematicValidate": True,
        "filenameTmpl": "{{ .Hostname }}.yaml",
        "imageSchematic": {"customization": {"extraKernelArgs": ["a"]}},
        "machineSpec": {"bootMethod": "disk-image", "imageSuffix": "raw.xz"},
        "networkInterfaces": [{"interface": "eth0", "dhcp": True, "dummy": True}],
    }
    factory = {"protocol": "http", "schematicEndpoint": "/x", "ISOURLTmpl": "y"}
    imported = do_import(tmp_path, talconfig(nodes={1: node}, imageFactory=factory))
    assert imported.complete
    assert {one.path for one in notes(imported)} == {
        "nodes[1].noSchematicValidate", "nodes[1].filenameTmpl", "nodes[1].imageSchematic",
        "nodes[1].machineSpec.bootMethod", "nodes[1].machineSpec.imageSuffix", "nodes[1].networkInterfaces",
        "imageFactory.protocol", "imageFactory.schematicEndpoint", "imageFactory.ISOURLTmpl",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("clusterName: [\n", "not valid YAML"),
        ("- a\n- b\n", "the file is not a mapping of keys to values"),
        ("", "the file is not a mapping of keys to values"),
        ("clusterName: a\nclusterName: b\n", "`clusterName` is given twice"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("x: " + "[" * 60 + "]" * 60, "nested deeper than 50 levels"),
        ("a: &a [x, x]\nb: &b [*a, *a]\n" + "".join(
            f"{chr(99 + n)}: &{chr(99 + n)} [{', '.join([f'*{chr(98 + n)}'] * 9)}]\n" for n in range(9)
        ), "unfold into too many values"),
        ("nodes: []\n", "`clusterName` is missing"),
        ("clusterName: a\nendpoint: b\nkubernetesVersion: c\nnodes: 7\n", "`nodes` is missing"),
        ("clusterName: a\nendpoint: b\nkubernetesVersion: c\ntalosVersion: '1'\nnodes: [{}]\n",
         "`talosVersion`: `1` is not a full version"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_talconfig_is_refused(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InventoryError) as refused:
        do_import(tmp_path, text)
    assert any(what in problem.what for problem in refused.value.problems), refused.value.problems


@pytest.mark.parametrize("content", [b"\xff\xfea\x00", b"a: \xff\n", b"a: \x07\n", b"# " + b"x" * (5 << 20)])
def test_bytes_that_are_no_text_are_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "talconfig.yaml"
    file.write_bytes(content)
    with pytest.raises(InventoryError):
        import_talconfig(file, schematic_id, refusal)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="does not exist"):
        import_talconfig(tmp_path / "talconfig.yaml", schematic_id, refusal)


def test_a_node_that_is_no_mapping_does_not_move_the_places_of_others(tmp_path: Path) -> None:
    data = talconfig(nodes={1: {"nonsense": 1}})
    data["nodes"].insert(1, "text")
    found = left_out(do_import(tmp_path, data))
    assert [one.path for one in found] == ["nodes[1]", "nodes[2].nonsense"]
    assert save(tmp_path, data).read_text().splitlines()[found[1].line - 1].strip() == "nonsense: 1"
