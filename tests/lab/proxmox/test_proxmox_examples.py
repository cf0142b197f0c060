"""The two examples, as somebody brings them up, changes and removes them: each command typed, and its output read.

`examples/proxmox` installs from an ISO of this computer, with a token that gets no more than what `doctor` asks for;
`examples/proxmox-inventory` clones a template that the plan makes of a disk image of this computer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged
from tests.lab.proxmox.sites import Computer
from tests.simulators.proxmox import VM

pytestmark = pytest.mark.slow

CHANGING = "POST|PUT|DELETE"


def run_on_host(computer: Computer, doctor: str) -> None:
    """What `doctor` prints for root on the host: the simulator has no shell."""
    access = computer.site.world.access
    lines = [line.strip() for line in doctor.splitlines() if line.strip().startswith("pveum ")]
    assert lines
    for line in lines:
        if found := re.match(r"pveum role add (\S+) --privs (\S+)", line):
            access.roles[found[1]] = access.roles.get(found[1], frozenset()) | {*found[2].split(",")}
        else:
            found = re.fullmatch(r"pveum acl modify (\S+) --(?:users|tokens) '?([^ ']+)'? --roles (\S+)", line)
            assert found, line
            access.grant(found[1], found[2], found[3])


def disks(vm: VM) -> list[str]:
    """Their sizes."""
    texts = [str(vm.config[name]) for name in ("scsi0", "scsi1", "scsi2") if name in vm.config]
    return [found[1] for text in texts if (found := re.search(r"size=(\w+)", text))]


def second_up_changes_nothing(computer: Computer) -> None:
    before = len(changes(computer))
    assert "in sync" in computer.must("up", "--yes")
    assert len(changes(computer)) == before


def changes(computer: Computer) -> list[tuple[str, str, str]]:
    return [call for call in computer.site.world.calls if call[0] != "GET"]


def test_iso_from_secrets_to_destroy(computers: Callable[..., Computer]) -> None:
    computer = computers()
    site = computer.site
    computer.boots_from("talos.iso")
    computer.use_token(site.world.add_token("talosmith@pve", "cluster"))

    computer.make_secrets()
    said = computer.must("doctor", code=1)
    assert "the token has no privileges at all" in said
    run_on_host(computer, said)
    said = computer.must("doctor")
    assert "talosmith@pve!cluster has all privileges that the plan needs" in said
    assert "VMIDs: 2000, 3000, 3001 free" in said

    said = computer.must("plan", code=2)
    assert "create iso talos.iso-" in said and said.count("create machine") == 2, said
    assert not changes(computer)
    computer.must("up", "--yes")
    converged(computer)
    vms = site.ours()
    assert {vm.vmid for vm in vms.values()} == {2000, 3000, 3001}
    assert disks(vms["talos-cp-01"]) == ["50G"] and disks(vms["talos-w-02"]) == ["50G", "50G"]
    assert (vms["talos-cp-01"].config["cores"], vms["talos-cp-01"].config["memory"]) == (2, "2048")
    assert len(site.new_volumes("-image-")) == 2, site.new_volumes()  # the ISO, and the claim to it
    assert all(boot.seeded for boot in site.guests.boots)
    said = computer.must("status")
    assert "talos: in sync, healthy" in said and said.count("Ready") == 3
    second_up_changes_nothing(computer)

    # More of everything, and one disk more: the workers restart, one after the other, and boot from their disks.
    computer.change(
        "nodes.yaml", ("cpu: 4", "cpu: 6"), ("ram: 3G", "ram: 4G"),
        ("disk: 50G\n  extra_disks: [50G]", "disk: 60G\n  extra_disks: [50G, 10G]"),
    )  # fmt: skip
    said = computer.must("plan", code=2)
    for line in ("talos-w-01, talos-w-02", "~ CPUs: 4 → 6", "~ memory: 3072 MiB → 4096 MiB"):
        assert line in said, said
    assert "~ disk: 102400 MiB → 122880 MiB" in said and "talos-cp-01\n" not in said
    boots = len(site.guests.boots)
    said = computer.must("up", "--yes")
    assert "retrying" not in said, said
    assert [(boot.vmid, boot.seeded) for boot in site.guests.boots[boots:]] == [(3000, False), (3001, False)]
    worker = site.ours()["talos-w-01"]
    assert (worker.config["cores"], worker.config["memory"]) == (6, "4096")
    assert disks(worker) == ["60G", "50G", "10G"]
    assert site.lab.world.machines["talos-w-01"].memory_mib == 4096
    converged(computer)

    # A worker comes, and goes.
    nodes = (computer.folder / "nodes.yaml").read_text()
    address = computer.network.replace(".0/24", ".104")
    (computer.folder / "nodes.yaml").write_text(f"{nodes}    - {{name: talos-w-03, ip: {address}}}\n")
    assert computer.must("plan", code=2).count("create machine") == 1
    computer.must("up", "--yes")
    converged(computer, [*computer.names, "talos-w-03"])
    assert site.ours()["talos-w-03"].vmid == 3002
    (computer.folder / "nodes.yaml").write_text(nodes)
    said = computer.must("plan", code=2)
    assert "cordon and drain" in said and "delete machine and disks" in said and "1 wipe" in said
    computer.must("up", "--yes")
    converged(computer)

    computer.must("destroy", "--confirm", "talos")
    site.assert_clean()


@pytest.mark.real  # for its length alone
def test_template_with_new_secrets_to_destroy(computers: Callable[..., Computer]) -> None:
    computer = computers("proxmox-inventory", token="root")
    site = computer.site
    computer.boots_from("talos.raw")
    (computer.folder / "secrets.sops.yaml").unlink()
    said = computer.must("plan", "--new-secrets", code=2)
    assert "create image talos.raw-" in said and "create template talos.raw-" in said
    assert not changes(computer)
    computer.must("up", "--new-secrets", "--yes")
    converged(computer)
    (template,) = [vm for vm in site.world.vms.values() if vm.template]
    image = [name for name in site.new_volumes("-image-") if "-claim-" not in name]
    assert len(image) == 1 and re.fullmatch(r"local:import/talosmith-image-talos\.raw-[0-9a-f]{8}\.qcow2", image[0])
    assert template.node == "pve1" and "ide2" not in template.config and "net0" not in template.config
    vms = site.ours()
    assert {name: (vm.vmid, disks(vm)) for name, vm in vms.items()} == {
        "dev-cp-1": (2000, ["40G"]),
        "dev-wk-1": (3000, ["60G"]),
    }
    assert len({vm.config["smbios1"] for vm in (*vms.values(), template)}) == 3
    second_up_changes_nothing(computer)
    assert "no errors, no warnings" in computer.must("doctor")

    computer.change("nodes.yaml", ("disk: 60G", "disk: 80G"))
    said = computer.must("plan", code=2)
    assert "~ disk: 61440 MiB → 81920 MiB" in said and "no reboot" in said, said
    boots = len(site.guests.boots)
    computer.must("up", "--yes")
    assert disks(site.ours()["dev-wk-1"]) == ["80G"] and len(site.guests.boots) == boots
    converged(computer)

    nodes = (computer.folder / "nodes.yaml").read_text()
    one_more = f"  - {{name: dev-wk-2, ip: {computer.network.replace('.0/24', '.22')}, cpu: 2, ram: 2G, disk: 20G}}\n"
    (computer.folder / "nodes.yaml").write_text(nodes + one_more)
    computer.must("up", "--yes")
    converged(computer, [*computer.names, "dev-wk-2"])
    (computer.folder / "nodes.yaml").write_text(nodes)
    computer.must("up", "--yes")
    converged(computer)

    # The template that a cluster no longer has machines of stays, until the cluster itself goes.
    computer.must("destroy", "--confirm", "dev")
    site.assert_clean()
    assert "nothing" in computer.must("destroy", "--confirm", "dev")
