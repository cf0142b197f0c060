"""Examples rendered for Terraform, and OpenTofu with its providers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import create_secrets
from tests.real.libvirt.daemon import Daemon, running_daemon
from tests.real.terraform.tofu import Tofu, mirror
from tools.peers import PeerUnavailable
from tools.peers.libvirt_recipes import prepare

EXAMPLES = Path(__file__).parents[3] / "examples"
Render = Callable[..., Path]
Start = Callable[..., Tofu]


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return Bundle.generate()


@pytest.fixture
def render(tmp_path: Path, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> Render:
    """`render("proxmox")` is the folder that `talosmith render terraform` writes for the example."""
    for name in [name for name in os.environ if name.startswith("SOPS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def folder(example: str, change: Callable[[str], str] = str) -> Path:
        inventory, out = tmp_path / "inventory", tmp_path / "terraform"
        if not inventory.exists():
            shutil.copytree(EXAMPLES / example, inventory)
            create_secrets(inventory, bundle)
        file = inventory / "cluster.yaml"
        file.write_text(change(file.read_text()))
        assert run(["render", "terraform", "-i", str(inventory), "--out", str(out)]) == 0
        return out

    return folder


@pytest.fixture
def start(tmp_path: Path, peer: Callable[[str], Path]) -> Start:
    """OpenTofu in a folder, initialized."""
    program, settings = peer("tofu"), mirror(tmp_path / "mirror", peer)

    def tofu(folder: Path, *prefix: str | Path, **variables: str) -> Tofu:
        made = Tofu(program, folder, settings, tmp_path, variables, prefix)
        made("init", "-input=false", "-no-color")
        return made

    return tofu


@pytest.fixture(scope="session")
def libvirtd() -> Iterator[Daemon]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a libvirtd of the test's own needs root on Linux")
    try:
        prepare()
    except PeerUnavailable as problem:
        pytest.skip(str(problem))
    with running_daemon() as daemon:
        yield daemon
