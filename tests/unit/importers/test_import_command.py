"""`talosmith import talconfig`: what it writes, what it prints where, and that it never replaces anything."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from talconfigs import save, talconfig

from talosmith import load
from talosmith.cli.app import run

Talosmith = Callable[..., tuple[int, str, str]]
WITH_LOSS = talconfig(nodes={0: {"nonsense": 1}})


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Talosmith:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def test_the_inventory_is_written_and_the_next_step_is_told(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig())
    (tmp_path / "talsecret.yaml").write_text("x")
    (tmp_path / "talsecret.sops.yaml").write_text("x")
    code, out, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert (code, err) == (0, "")
    assert "✓ new/cluster.yaml\n" in out
    assert "Next: talosmith secrets import -i new --from talsecret.sops.yaml, then talosmith validate -i new" in out
    assert load(tmp_path / "new").name == "home"
    text = (tmp_path / "new" / "cluster.yaml").read_text()
    assert text.startswith(
        "# yaml-language-server: $schema=./.talosmith/cluster.schema.json\n# Imported from talconfig"
    )
    assert (tmp_path / "new" / ".talosmith" / "nodes.schema.json").exists()
    assert "secrets.yaml\n" in (tmp_path / "new" / ".gitignore").read_text()


def test_beside_the_talconfig_is_the_usual_place(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig())
    (tmp_path / ".gitignore").write_text("mine\n")
    code, out, _ = talosmith("import", "talconfig", "talconfig.yaml")
    assert code == 0
    assert "secrets import" not in out
    assert load(tmp_path).name == "home"
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_if_something_is_left_out_nothing_is_written(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, WITH_LOSS)
    code, out, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert code == 1
    assert "warning: `nodes[0].nonsense`: this key is not known here" in out
    assert "nothing was written: one thing was not converted" in err
    assert not (tmp_path / "new").exists()


def test_unless_that_is_accepted(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, WITH_LOSS)
    code, out, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new", "--partial")
    assert code == 0
    assert "nodes[0].nonsense" in err and "nodes[0].nonsense" not in out
    assert load(tmp_path / "new").name == "home"


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_as_data(form: str, read: Callable[[str], Any], talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, WITH_LOSS)
    code, out, _ = talosmith("import", "talconfig", "talconfig.yaml", "-o", form)
    told = read(out)
    assert (code, told["complete"], told["written"], told["next"]) == (1, False, [], [])
    (remark,) = told["problems"]
    assert (remark["path"], remark["file"], remark["left_out"]) == ("nodes[0].nonsense", "talconfig.yaml", True)
    assert (tmp_path / "talconfig.yaml").read_text().splitlines()[remark["line"] - 1].strip() == "nonsense: 1"
    code, out, _ = talosmith("-o", form, "import", "talconfig", "talconfig.yaml", "--partial", "--into", "new")
    told = read(out)
    assert code == 0
    assert "new/cluster.yaml" in told["written"]
    assert told["next"] == ["talosmith validate -i new", "talosmith show -i new"]


@pytest.mark.parametrize("there", ["cluster.yaml", "nodes.yaml", ".talosmith/cluster.schema.json"])
def test_nothing_is_overwritten(there: str, talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig())
    (tmp_path / "new" / there).parent.mkdir(parents=True)
    (tmp_path / "new" / there).symlink_to("/nowhere")  # one that leads nowhere is there too
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert code == 1
    assert f"new/{there} already exists" in err
    assert [path for path in (tmp_path / "new").rglob("*") if not path.is_dir()] == [tmp_path / "new" / there]


def test_patches_of_others_are_not_mixed_in(talosmith: Talosmith, tmp_path: Path) -> None:
    """talhelper's own may lie in a folder that an inventory would read as a whole."""
    (tmp_path / "patches" / "global").mkdir(parents=True)
    (tmp_path / "patches" / "global" / "kubelet.yaml").write_text("machine: {env: {A: b}}\n")
    save(tmp_path, talconfig(patches=["@patches/global/kubelet.yaml"]))
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml")
    assert code == 1
    assert "patches/global/kubelet.yaml exists and would become a patch of the inventory" in err
    assert not (tmp_path / "cluster.yaml").exists()
    assert talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")[0] == 0


def test_what_is_no_valid_inventory_is_not_written(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig(nodes={1: {"ipAddress": "10.0.0.11"}}, kubernetesVersion="v1.2.3"))
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert code == 1
    assert "the converted inventory is not valid" in err
    assert "have the same address 10.0.0.11" in err and "Kubernetes v1.2.3 does not run on Talos v1.13.4" in err
    assert not (tmp_path / "new").exists()


def test_two_nodes_of_one_name_are_refused(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig(nodes={1: {"hostname": "cp-1.other.lan"}}))
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert (code, "two nodes have the name `cp-1`" in err) == (1, True)


def test_a_file_that_is_no_talconfig(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, "clusterName: [\n")
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml")
    assert code == 65
    assert "talconfig.yaml:2:1: error: not valid YAML" in err
    code, _, err = talosmith("import", "talconfig", "missing.yaml")
    assert (code, "missing.yaml: error: the file does not exist" in err) == (65, True)


def test_a_folder_that_cannot_be_written_to(talosmith: Talosmith, tmp_path: Path) -> None:
    save(tmp_path, talconfig())
    (tmp_path / "new").write_text("a file")
    code, _, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert code == 1
    assert "error: cannot write new/cluster.yaml" in err


def test_revealed_values_are_for_the_owner_alone(
    talosmith: Talosmith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALOSMITH_TEST_TOKEN", "canary-1")
    save(tmp_path, talconfig(patches=["machine:\n  env:\n    A: $TALOSMITH_TEST_TOKEN\n"]))
    code, out, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new")
    assert code == 1
    assert "give --reveal" in out and "canary-1" not in out + err
    code, out, err = talosmith("import", "talconfig", "talconfig.yaml", "--into", "new", "--reveal")
    assert code == 0
    assert "canary-1" not in out + err
    written = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in written} == {0o600}
    assert any("canary-1" in path.read_text() for path in written)


def test_revealed_values_are_not_written_where_git_takes_them(
    talosmith: Talosmith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALOSMITH_TEST_TOKEN", "canary-1")
    save(tmp_path, talconfig(patches=["machine:\n  env:\n    A: $TALOSMITH_TEST_TOKEN\n"]))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ("import", "talconfig", "talconfig.yaml", "--into", "new", "--reveal")
    code, _, err = talosmith(*command)
    assert code == 1 and "new would hold secrets where Git does not ignore it" in err
    assert "import without --reveal" in err and not (tmp_path / "new").exists()
    (tmp_path / ".gitignore").write_text("/new/\n")
    assert talosmith(*command)[0] == 0


def test_help(talosmith: Talosmith) -> None:
    code, out, _ = talosmith("import", "--help")
    assert code == 0
    assert "talconfig" in out
    code, out, _ = talosmith("import", "talconfig", "--help")
    assert code == 0
    assert "--partial" in out and "--into" in out and "--reveal" in out
