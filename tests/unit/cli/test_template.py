"""`talosmith template`: created, listed and deleted on a simulated Proxmox VE, as text, JSON and YAML."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talosmith.cli.app import run
from tests.output_schemas import assert_output
from tests.simulators.proxmox import Proxmox, serving

pytestmark = pytest.mark.slow

INVENTORY = """\
cluster_name: dev
talos_version: v1.13.9
kubernetes_version: v1.36.3
network: {{node_cidr: 127.200.1.0/24}}
proxmox:
  hosts: [pve, pve2]
  datastore: local
  boot: template
  image: {image}
controlplane: 1
workers: 2
"""
Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxmox]:
    world = Proxmox(nodes=("pve", "pve2"))
    with serving(world) as server:
        name, secret = world.tokens["root"]
        monkeypatch.setenv("PROXMOX_VE_URL", server.url)
        monkeypatch.setenv("PROXMOX_VE_API_TOKEN", f"{name}={secret}")
        monkeypatch.setenv("PROXMOX_VE_FINGERPRINT", server.fingerprint)
        yield world


@pytest.fixture
def talosmith(
    world: Proxmox, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Talosmith:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    image, folder = tmp_path / "talos.raw", tmp_path / "dev"
    image.write_bytes(b"boots".ljust(512, b"\1") + bytes(1024 * 1024))
    folder.mkdir()
    (folder / "cluster.yaml").write_text(INVENTORY.format(image=image))

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "-i", str(folder)])
        return code, *capsys.readouterr()

    return call


def templates(world: Proxmox) -> list[str]:
    world.settle()
    return [f"{vm.name}@{vm.node}" for vm in world.vms.values() if vm.template]


def test_from_create_to_delete(talosmith: Talosmith, world: Proxmox) -> None:
    assert "there are no templates" in talosmith("template", "list")[1]
    code, out, _ = talosmith("template", "create", "--name", "golden")
    assert code == 0 and out.count("golden") == 2 and "pve2" in out
    assert templates(world) == ["golden@pve", "golden@pve2"]
    assert not [name for name in world.volumes if "talosmith-image" in name], "the image is in the templates"
    before = templates(world)
    for output in ("json", "yaml"):
        for command in ("create", "list"):
            code, out, _ = talosmith("-o", output, "template", command)
            assert code == 0 and assert_output(f"template {command}", out, output)
    assert templates(world) == before, "what exists is not created again"
    code, out, _ = talosmith("-o", "json", "template", "delete", "golden", "--yes")
    assert code == 0 and assert_output("template delete", out, "json") and not templates(world)


def test_what_is_not_deleted(talosmith: Talosmith, world: Proxmox, monkeypatch: pytest.MonkeyPatch) -> None:
    talosmith("template", "create", "--name", "golden")
    world.add_vm(700, "theirs", template=1)
    code, _, err = talosmith("template", "delete", "theirs", "--yes")
    assert code == 64 and "does not exist" in err
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115, PTH123
    code, _, err = talosmith("template", "delete", "golden")
    assert code == 64 and "--yes" in err
    assert sorted(templates(world)) == ["golden@pve", "golden@pve2", "theirs@pve"]


def test_other_providers_have_none(talosmith: Talosmith, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    text = INVENTORY.format(image="x").partition("proxmox:")[0] + "lab: {}\ncontrolplane: 1\n"
    (folder / "cluster.yaml").write_text(text.replace("127.200.1.0", "127.201.1.0"))
    assert run(["template", "list", "-i", str(folder)]) == 64
    assert "lab has no templates" in capsys.readouterr().err
