"""`talosmith render terraform`: the machines of an inventory as variables of a Terraform module, without secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith import load
from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import create_secrets
from talosmith.desired.terraform import MODULE, VARIABLES, terraform_files
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG
from talosmith.model.providers import PROVIDERS, ProviderSection

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
Write = Callable[..., Cluster]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """An inventory of one control plane and one worker, with the lines given."""

    def cluster(provider: str, *more: str) -> Cluster:
        text = (
            "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
            f"network: {{node_cidr: 10.0.0.0/24}}\n{provider}\n"
        )
        nodes = "controlplane: {count: 1, disk: 40G}\nworkers: {count: 1, disk: 40G, extra_disks: [10G]}\n"
        (tmp_path / "cluster.yaml").write_text(text + nodes + "\n".join(more) + "\n")
        return load(tmp_path)

    return cluster


def variables(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(terraform_files(cluster)[VARIABLES])
    return found


def machine(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = variables(cluster)["machines"][name]
    return found


# The examples


def test_the_proxmox_example() -> None:
    values = variables(load(EXAMPLES / "proxmox"))
    assert values["endpoint"] == "https://192.168.1.10:8006"
    assert (values["iso_storage"], values["image_storage"], values["template"]) == ("local", "local", None)
    (name, image), *others = values["images"].items()
    assert not others and name == "talos-talos-v1.14.1-37656798-nocloud-amd64.qcow2"
    assert image["content"] == "import" and image["url"].endswith("/v1.14.1/nocloud-amd64.qcow2")
    machines = values["machines"]
    assert {name: one["vmid"] for name, one in machines.items()} == {
        "talos-cp-01": 2000,
        "talos-w-01": 3000,
        "talos-w-02": 3001,
    }
    assert machines["talos-w-02"] == {
        "role": "worker",
        "vmid": 3001,
        "host": "hydra",
        "cpu": 4,
        "cpu_type": "host",
        "cpu_flags": [],
        "ram_mib": 3072,
        "datastore": "local",
        "disks_gib": [50, 50],
        "scsi_controller": "virtio-scsi-pci",
        "uefi": True,
        "tpm": False,
        "bridge": "vmbr0",
        "vlan": None,
        "mac": "52:54:00:c2:00:02",
        "address": "192.168.1.103/24",
        "gateway": "192.168.1.3",
        "image": name,
        "seed": "seeds/talos-w-02/seed.iso",
        "guest_agent": False,
        "autostart": True,
        "start_order": None,
        "pool": None,
        "tags": ["talos", "terraform", "worker"],
    }
    assert (machines["talos-cp-01"]["ram_mib"], machines["talos-cp-01"]["disks_gib"]) == (2048, [50])


def test_the_proxmox_example_with_two_files() -> None:
    values = variables(load(EXAMPLES / "proxmox-inventory"))
    assert values["endpoint"] is None, "the module reads PROXMOX_VE_ENDPOINT"
    one = values["machines"]["dev-wk-1"]
    assert (one["host"], one["datastore"], one["bridge"]) == ("pve1", "local-lvm", "vmbr0")
    assert (one["cpu"], one["ram_mib"], one["disks_gib"], one["address"]) == (4, 8192, [60], "10.0.10.21")


def test_the_libvirt_example() -> None:
    values = variables(load(EXAMPLES / "libvirt-ha"))
    assert (values["uri"], values["domain_type"], values["uefi"]) == ("qemu:///system", "kvm", None)
    assert (values["pool"], values["network"]) == ({"name": "default", "path": None}, {"bridge": "br0"})
    assert list(values["machines"]) == [f"talos-{role}-{number}" for role in ("cp", "w") for number in (1, 2, 3)]
    assert values["machines"]["talos-cp-2"] == {
        "role": "controlplane",
        "cpu": 2,
        "ram_mib": 4096,
        "disks_gib": [20],
        "mac": "52:54:00:c1:00:02",
        "address": "10.0.0.71/24",
        "gateway": "10.0.0.1",
        "image": "talos-talos-v1.14.1-37656798-nocloud-amd64.qcow2",
        "seed": "seeds/talos-cp-2/seed.iso",
        "autostart": True,
    }


@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory", "libvirt-ha"])
def test_the_same_inventory_gives_the_same_files(example: str) -> None:
    cluster = load(EXAMPLES / example)
    files = terraform_files(cluster)
    assert list(files) == [*MODULE, VARIABLES] and files == terraform_files(load(EXAMPLES / example))


@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory", "libvirt-ha"])
def test_machines_do_not_have_the_ownership_tags(example: str) -> None:
    """They are Terraform's: talosmith must take them for foreign ones."""
    files = terraform_files(load(EXAMPLES / example))
    for marker in (CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, "urn:talosmith"):
        assert all(marker not in content.decode() for content in files.values())
    for one in json.loads(files[VARIABLES])["machines"].values():
        assert not [tag for tag in one.get("tags", ()) if "talosmith" in tag]


@pytest.mark.parametrize("example", ["proxmox", "libvirt-ha"])
def test_the_module_declares_every_variable(example: str) -> None:
    """An undeclared one is a warning that is easily missed, and an undeclared attribute is dropped without a word."""
    files = terraform_files(load(EXAMPLES / example))
    text = files["variables.tf"].decode()
    values = json.loads(files[VARIABLES])
    assert set(values) <= set(re.findall(r'^variable "(\w+)"', text, re.MULTILINE))
    (declared,) = re.findall(r'^variable "machines" \{.*?^\}', text, re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^ {4}(\w+) +=", declared, re.MULTILINE))
    for one in values["machines"].values():
        assert set(one) == names


# Settings of the inventory


def test_what_a_proxmox_machine_is_like(write: Write) -> None:
    section = (
        "{hosts: [a, b], datastore: zfs, image_storage: images, bridge: vmbr1, vlan: 20, firmware: bios, tpm: true,"
        " cpu_type: x86-64-v3, scsi_controller: virtio-scsi-single, pool: prod, tags: [blue], autostart: false,"
        " start_order: 5}"
    )
    cluster = write(f"proxmox: {section}", "image: {extensions: [siderolabs/qemu-guest-agent]}")
    one = machine(cluster, "w-1")
    assert (one["uefi"], one["tpm"], one["cpu_type"], one["scsi_controller"]) == (
        False,
        True,
        "x86-64-v3",
        "virtio-scsi-single",
    )
    assert (one["datastore"], one["bridge"], one["vlan"], one["pool"]) == ("zfs", "vmbr1", 20, "prod")
    assert (one["autostart"], one["guest_agent"], one["start_order"]) == (False, True, 6)
    assert machine(cluster, "cp-1")["start_order"] == 5
    assert one["tags"] == ["blue", "dev", "terraform", "worker"]
    assert one["disks_gib"] == [40, 10]
    assert variables(cluster)["image_storage"] == "images"
    assert {one["host"] for one in variables(cluster)["machines"].values()} <= {"a", "b"}


def test_a_schematic_is_written_for_the_image_factory(write: Write) -> None:
    files = terraform_files(write("libvirt: {}", "image: {extensions: [siderolabs/iscsi-tools]}"))
    (name,) = set(files) - {*MODULE, VARIABLES}
    assert re.fullmatch(r"schematic-[0-9a-f]{12}\.yaml", name)
    assert b"siderolabs/iscsi-tools" in files[name]
    (image,) = json.loads(files[VARIABLES])["images"].values()
    assert name.removeprefix("schematic-").removesuffix(".yaml") in image["source"]


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("template: 9000", {"vmid": 9000, "full": True}),
        ("template: talos-1.13, clone: linked", {"name": "talos-1.13", "full": False}),
    ],
)
def test_clones_of_a_template(template: str, wanted: dict[str, object], write: Write) -> None:
    values = variables(write(f"proxmox: {{node: pve, {template}}}"))
    assert values["template"] == wanted and values["images"] == {}
    assert {one["image"] for one in values["machines"].values()} == {None}


def test_an_image_of_the_users_own(write: Write, tmp_path: Path) -> None:
    digits = "a" * 64
    for place, wanted in (
        ("local:import/talos.raw", {"content": "import", "volume": "local:import/talos.raw"}),
        (f"{tmp_path}/talos.raw", {"content": "import", "file": f"{tmp_path}/talos.raw"}),
        ("https://mirror.example/talos.qcow2", {"content": "import", "url": "https://mirror.example/talos.qcow2"}),
    ):
        (image,) = variables(write(f"proxmox: {{node: pve, image: '{place}'}}"))["images"].values()
        assert image == wanted
    values = variables(write(f"proxmox: {{node: pve, image: /tmp/talos.raw, image_checksum: '{digits}'}}"))
    assert values["images"]["dev-talos.raw"]["algorithm"] == "sha256"
    assert values["images"]["dev-talos.raw"]["checksum"] == digits


def test_an_iso_leaves_no_drive_for_a_seed(write: Write) -> None:
    """Both examples start from something else with talosmith itself; the disk image has the same Talos."""
    for boot in ("iso", "template"):
        (image,) = variables(write(f"proxmox: {{node: pve, boot: {boot}}}"))["images"].values()
        assert image["content"] == "import"
    (image,) = variables(write("proxmox: {node: pve, boot: iso, seed: false}"))["images"].values()
    assert image["content"] == "iso" and image["url"].endswith("/nocloud-amd64.iso")
    values = variables(write("proxmox: {node: pve, iso: 'local:iso/talos.iso', seed: false}"))
    assert values["images"] == {"local:iso/talos.iso": {"content": "iso", "volume": "local:iso/talos.iso"}}
    assert {one["seed"] for one in values["machines"].values()} == {None}


@pytest.mark.parametrize(
    ("provider", "more", "refusal"),
    [
        ("proxmox: {node: pve, iso: 'local:iso/talos.iso'}", "", "two CD drives"),
        ("proxmox: {node: pve}", "image: {secureboot: true}", "two CD drives"),
        ("proxmox: {node: pve, cpu_type: 'host,hidden=1'}", "", "hidden=1"),
        ("proxmox: {node: pve, image: /tmp/talos.raw.xz}", "", "does not decompress"),
        ("proxmox: {node: pve, image: /tmp/talos}", "", "does not store"),
        ("libvirt: {image: 'https://mirror.example/talos.raw.zst'}", "", "does not decompress"),
        ("libvirt: {cpu_model: EPYC}", "", "libvirt.cpu_model"),
        ("libvirt: {firmware: uefi}", "image: {secureboot: true}", "image.secureboot"),
    ],
)
def test_what_a_module_cannot_express_is_refused(provider: str, more: str, refusal: str, write: Write) -> None:
    with pytest.raises(UsageError, match=refusal) as refused:
        variables(write(provider, more))
    assert refused.value.hint


def test_flags_of_the_cpu(write: Write) -> None:
    one = machine(write("proxmox: {node: pve, cpu_type: 'x86-64-v3,flags=+aes;-pcid'}"), "w-1")
    assert (one["cpu_type"], one["cpu_flags"]) == ("x86-64-v3", ["+aes", "-pcid"])


def test_disks_are_whole_gib(write: Write) -> None:
    cluster = write("libvirt: {}")
    assert machine(cluster, "w-1")["disks_gib"] == [40, 10]
    odd = tuple(replace(node, extra_disks_mib=(10752,)) for node in cluster.nodes)
    with pytest.raises(UsageError, match="10752 MiB is not a whole number of GiB"):
        variables(replace(cluster, nodes=odd))


def test_a_libvirt_network_and_pool_that_are_created(write: Write) -> None:
    values = variables(write("libvirt: {network: nodes, make_network: isolated, pool: p, pool_path: /srv/p}"))
    assert values["network"] == {"name": "nodes", "mode": "none", "cidr": "10.0.0.0/24"}
    assert values["pool"] == {"name": "p", "path": "/srv/p"}
    assert variables(write("libvirt: {}"))["network"] == {"name": "default"}


@pytest.mark.parametrize("provider", ["lab: {}", "metal: {}", "aws: {region: eu-central-1, azs: [a]}", "docker: {}"])
def test_other_providers_are_refused(provider: str, write: Write) -> None:
    cluster = replace(load(EXAMPLES / "libvirt-ha"), provider=section_of(provider))
    with pytest.raises(UsageError, match=f"provider `{provider.partition(':')[0]}`") as refused:
        terraform_files(cluster)
    assert refused.value.hint == "supported providers: proxmox, libvirt"


def section_of(text: str) -> ProviderSection:
    ((name, values),) = yaml.safe_load(text).items()
    return PROVIDERS[name].model_validate(values)


# The command


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of an example in a work tree of Git, without secrets, for a user without a key."""
    for name in [name for name in os.environ if name.startswith("SOPS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "inventory"
    shutil.copytree(EXAMPLES / "proxmox", folder)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    return folder


def test_only_the_seeds_hold_secrets(example: Path) -> None:
    bundle = Bundle.generate()
    create_secrets(example, bundle)
    assert run(["render", "terraform", "--out", "terraform"]) == 0
    folder = example / "terraform"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*MODULE, VARIABLES, "seeds"])
    values = json.loads((folder / VARIABLES).read_text())
    assert all((folder / one["seed"]).is_file() for one in values["machines"].values())
    subprocess.run(["git", "add", "-A"], cwd=example, check=True)
    listed = subprocess.run(["git", "ls-files", "terraform"], cwd=example, check=True, capture_output=True, text=True)
    assert listed.stdout.split() == sorted(f"terraform/{name}" for name in [*MODULE, VARIABLES])
    seeds = b"".join(path.read_bytes() for path in (folder / "seeds").rglob("seed.iso")).decode("latin-1")
    others = "".join((example / name).read_text() for name in listed.stdout.split())
    mapping = bundle.to_mapping()
    secrets = [mapping["cluster"]["secret"], *(pair["key"] for pair in mapping["certs"].values())]
    assert any(secret in seeds for secret in secrets), "this test would not notice"
    assert not [secret for secret in secrets if secret in others]
    assert "token" not in (folder / VARIABLES).read_text()


def test_files_are_the_same_when_they_are_written_again(example: Path) -> None:
    create_secrets(example, Bundle.generate())
    for name in ("one", "two"):
        assert run(["render", "terraform", "--out", name]) == 0
    found = [
        {
            path.relative_to(example / name): path.read_bytes()
            for path in (example / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    ]
    assert found[0] == found[1]


def test_without_secrets_nothing_is_written(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", "terraform", "--out", "terraform"]) == 1
    assert "secrets.sops.yaml does not exist" in capsys.readouterr().err
    assert not (example / "terraform").exists()


def test_the_command_refuses_other_providers(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLES / "lab" / "cluster.yaml", example / "cluster.yaml")
    (example / "nodes.yaml").unlink()
    assert run(["render", "terraform", "--out", "terraform"]) == 64
    assert "supported providers: proxmox, libvirt" in capsys.readouterr().err
    assert not (example / "terraform").exists()
