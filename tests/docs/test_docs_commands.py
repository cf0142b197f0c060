"""README and docs are followed literally: every command on them works, in order, in an empty folder."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Reader, commands, pages, scripts
from tests.loopback import free_network
from tools.peers import find

pytestmark = pytest.mark.slow

CHANGES = 2  # `plan`, `diff`, `status`: changes pending
TESTED = {  # where the commands of a page are run
    "README.md": "test_readme",
    "docs/addons.md": "test_addons_page",
    "docs/lab.md": "test_lab_page",
    "docs/secrets.md": "test_secrets_page",
    "docs/howto/aws.md": "tests/lab/aws/test_aws_howto.py",
    "docs/howto/libvirt.md": "tests/real/libvirt/test_libvirt_up.py",
    "docs/howto/metal.md": "test_metal_page",
    "docs/howto/migrate-config.md": "test_migration_page",
    "docs/howto/proxmox.md": "tests/real/proxmox/test_proxmox_howto.py",
    "docs/howto/troubleshooting.md": "test_troubleshooting_page",
    "docs/promises.md": "tests/unit/test_promises.py",
}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    (tmp_path / "here").mkdir()
    return Reader(tmp_path / "here")


def test_every_page_with_commands_is_run_by_a_test() -> None:
    assert {*pages()} == {*TESTED}
    for place in TESTED.values():
        assert place in globals() or Path(ROOT / place).is_file(), place


def follow(reader: Reader, page: str, answers: dict[str, str], pending: tuple[str, ...] = ()) -> dict[str, str]:
    """Type every command of a page; what each has shown. `pending`: commands that find changes to be made."""
    shown = {}
    for line in commands(page):
        answer = next((text for start, text in answers.items() if line.startswith(start)), "")
        code, said = reader.types(line, answer)
        assert code == (CHANGES if line.startswith(pending) and pending else 0), f"$ {line}\nexit code {code}\n{said}"
        shown[line.split("#")[0].strip()] = said
    return shown


def test_readme(reader: Reader) -> None:
    answers = {"talosmith up": "y\n", "talosmith destroy": "demo\n"}
    shown = follow(reader, "README.md", answers, pending=("talosmith plan",))
    assert "5 nodes" in shown["talosmith up -i demo"]
    assert (reader.folder / "short-lived.yaml").stat().st_mode & 0o777 == 0o600
    assert not (reader.folder / "demo" / "kubeconfig").exists(), "destroy deletes it"
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", "".join(scripts("README.md")), re.MULTILINE):
        assert re.search(rf"^{target}:.*##", make, re.MULTILINE), target


def test_secrets_page(reader: Reader) -> None:
    shown = follow(reader, "docs/secrets.md", {})
    assert "BEGIN" not in shown["talosmith secrets show -i demo"]


def test_addons_page(reader: Reader) -> None:
    answers = {"talosmith up": "y\n", "talosmith destroy": "demo\n"}
    shown = follow(reader, "docs/addons.md", answers, pending=("talosmith plan",))
    assert "add-ons are ready" in shown["talosmith up -i demo"]
    assert "in sync" in shown["talosmith addons list -i demo"]
    assert "no difference" in shown["talosmith addons diff -i demo"]


def test_migration_page(reader: Reader) -> None:
    shown = follow(
        reader, "docs/howto/migrate-config.md", {}, pending=("talosmith config migrate -i home --explain",)
    )
    assert "both forms mean the same" in shown["talosmith config migrate -i home --explain"]
    written = (reader.folder / "home/patches/global/all.yaml").read_text(encoding="utf-8")
    assert "kind: KubeletConfig" in written and "# noisy" in written
    assert (reader.folder / "home/patches/controlplane/all.yaml").is_file()


@pytest.mark.real  # for its time: it needs nothing
def test_troubleshooting_page(reader: Reader) -> None:
    """On a cluster of simulated machines, which has nothing wrong with it."""
    made = f"talosmith init demo --provider lab --node-cidr {free_network()} --controlplanes 1 --workers 1 --no-input"
    code, said = reader.types(f"{made} && talosmith up -i demo --new-secrets --yes")
    assert code == 0, said
    try:
        shown = follow(reader, "docs/howto/troubleshooting.md", {})
    finally:
        reader.types("talosmith destroy -i demo", "demo\n")
    assert "Health check successful" in shown["talosmith node logs cp-1 etcd --tail 50 -i demo"]
    assert (reader.folder / "demo-support.zip").is_file()


@pytest.mark.real  # for its time: it needs nothing
def test_metal_page(reader: Reader) -> None:
    """With simulated machines in maintenance mode: their network is on loopback, their disk is /dev/vda."""
    network = free_network().removesuffix(".0/24")
    page = reader.folder / "page.md"
    text = (ROOT / "docs/howto/metal.md").read_text(encoding="utf-8")
    page.write_text(text.replace("192.168.1.", f"{network}.").replace("/dev/sda", "/dev/vda"), encoding="utf-8")
    addresses = [f"{network}.{last}" for last in (10, 11, 12, 20)]
    lines = [f"talosmith lab start metal --network {network}.0/24"]
    lines += [f"talosmith lab machine create m{ip.rpartition('.')[2]} --lab metal --address {ip}" for ip in addresses]
    lines += ['until [ "$(talosmith lab machine list --lab metal | grep -c maintenance)" = 4 ]; do sleep 0.2; done']
    assert reader.types(" && ".join(lines))[0] == 0
    try:
        answers = {"talosmith up": "y\n", "talosmith destroy": "home\n"}
        shown = follow(reader, str(page), answers, pending=("talosmith plan",))
    finally:
        reader.types("talosmith lab stop metal --delete")
    assert "4 nodes" in shown["talosmith up -i home --trust-first-use"]


@pytest.mark.real
def test_lab_page(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    shutil.copytree(ROOT / "examples" / "lab", folder / "examples" / "lab")
    by_hand, real_kubernetes = scripts("docs/lab.md")
    reader = Reader(folder, (find("talosctl").parent,))
    code, said = reader.types(f"set -e\n{by_hand}")
    assert code == 0, said
    assert "KUBEBUILDER_ASSETS" in real_kubernetes  # tests/real/lab/test_real_kubernetes_up.py runs these
