"""The provider that an inventory names is the one that is used, and no other is even imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from talosmith import load
from talosmith.errors import ExitCode, Permanent
from talosmith.model import PROVIDERS
from talosmith.model.machines import Owner
from talosmith.providers import provider_for
from talosmith.providers.base import (
    Billed,
    CanResize,
    FindsRenamed,
    HasConsole,
    HasLeftovers,
    HasResources,
    HasSeeds,
    HasTemplates,
    NamesEndpoint,
    Provider,
)
from talosmith.providers.lab import lab_name

OWNER = Owner("dev", "0123456789abcdef")
HEADER = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
STATIC = "network: {node_cidr: 10.0.0.0/24}\n"
LIBVIRT = "libvirt: {}\ncontrolplane: 1\n"
METAL = "metal:\ncontrolplane: [{name: cp-1, disk: /dev/sda, interface: eno1}]\n"
AWS = "aws: {region: eu-west-1, azs: [eu-west-1a], domain: example.org}\ncontrolplane: 1\n"
PROXMOX = "proxmox: {node: pve1, url: 'https://10.0.0.9:8006'}\ncontrolplane: 1\n"
INVENTORIES = {
    "lab": "controlplane: 1\n",
    "libvirt": STATIC + LIBVIRT,
    "proxmox": STATIC + PROXMOX,
    "aws": AWS,
    "metal": STATIC + METAL,
}
NOT_YET = {"docker": "docker: {}\ncontrolplane: 1\n"}
ABILITIES: dict[type, set[str]] = {  # which providers have them
    CanResize: {"lab", "libvirt", "proxmox", "aws"},
    HasConsole: {"lab", "libvirt"},
    HasSeeds: {"libvirt", "proxmox"},
    HasTemplates: {"proxmox"},
    HasResources: {"libvirt", "proxmox", "aws"},
    FindsRenamed: {"lab", "libvirt", "proxmox", "aws"},
    NamesEndpoint: {"aws"},
    HasLeftovers: {"aws"},
    Billed: {"aws"},
}


def _provider(folder: Path, text: str) -> Provider:
    (folder / "cluster.yaml").write_text(HEADER + text)
    return provider_for(load(folder), OWNER, None)


def test_all_providers_are_here() -> None:
    assert {*INVENTORIES, *NOT_YET} == {*PROVIDERS}


@pytest.mark.parametrize("name", INVENTORIES)
def test_the_inventory_decides(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXMOX_VE_API_TOKEN", "talosmith@pve!cluster=0123")
    provider = _provider(tmp_path, INVENTORIES[name])
    assert isinstance(provider, Provider)
    assert provider.name == name and provider.creates == (name != "metal")
    assert provider.seeds == (name in ("libvirt", "proxmox", "aws"))
    assert {one for one in ABILITIES if isinstance(provider, one)} == {
        ability for ability, names in ABILITIES.items() if name in names
    }


def test_aws_without_seed_has_its_machines_wait_for_their_config(tmp_path: Path) -> None:
    assert _provider(tmp_path, AWS.replace("{", "{seed: false, ")).seeds is False


@pytest.mark.parametrize("name", sorted(NOT_YET))
def test_a_provider_that_is_not_there_yet_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(Permanent, match=f"`{name}` is not built yet") as refused:
        _provider(tmp_path, NOT_YET[name])
    assert refused.value.exit_code == ExitCode.FAILED and refused.value.hint


async def test_a_real_kubernetes_in_the_lab_needs_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = _provider(tmp_path, "lab: {kubernetes: real}\ncontrolplane: 1\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    wrong = [one for one in await provider.preflight([]) if one.level == "error"]
    assert [one.check for one in wrong] == ["the lab's Kubernetes"]
    assert "kube-apiserver" in wrong[0].cause and "simulated" in wrong[0].fix


def test_nobody_waits_for_what_others_use() -> None:
    program = (
        "import sys, talosmith.providers;"
        "print([one for one in sys.modules if one.startswith(('talosmith_lab', 'talosmith.providers.'))])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout.strip() == "[]"


def test_clusters_of_one_name_have_labs_of_their_own() -> None:
    long = "a" * 63
    assert lab_name(Owner("dev", "1" * 16)) != lab_name(Owner("dev", "2" * 16))
    assert len(lab_name(Owner(long, "1" * 16))) == 41  # as long as a lab's name may be
