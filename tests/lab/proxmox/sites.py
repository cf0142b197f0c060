"""A simulated Proxmox VE with nodes of the lab behind its VMs, and computers on which talosmith runs.

Each scenario has a site of its own, for VMIDs are given by the inventory; all labs of a test process share one event
loop in a thread of its own.
"""

from __future__ import annotations

import copy
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.desired.nocloud import iso
from talosmith.desired.secrets_file import RULES_FILE, SECRETS_FILE
from talosmith.model.secret import Secret
from talosmith.providers.lab.client import LabClient
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_loop import LabLoop
from tests.lab.up.places import Ended, Here, Kit
from tests.loopback import free_network
from tests.simulators.proxmox import VM, Proxmox, Server, serving
from tests.simulators.proxmox.lab_guests import LabGuests

EXAMPLES = Path(__file__).parents[3] / "examples"
ISO = "local:iso/talos.iso"
NODES = ("hydra", "pve1")  # of the two examples
Kept = dict[str, Any]


@dataclass
class Site:
    world: Proxmox
    server: Server
    lab: LabServer
    guests: LabGuests
    token: tuple[str, str]  # id and secret
    foreign: Kept = field(default_factory=dict)  # what was there before talosmith came
    made: list[int] = field(default_factory=list)  # VMIDs, each as often as a VM was made with it

    def kept(self) -> Kept:
        """All VMs and volumes, with contents. Whatever of a VM only tells the time is left out."""
        self.settle()
        with self.world.mutex:
            vms = {vm.vmid: _without_times(vm) for vm in self.world.vms.values()}
            volumes = {
                volume.volid: (volume.size, volume.ctime, volume.vmid, volume.node, volume.data)
                for volume in self.world.volumes.values()
            }
        return {"vms": vms, "volumes": volumes}

    def settle(self) -> None:
        self.world.settle()
        self.guests.settle()

    def ours(self) -> dict[str, VM]:
        """By name, VMs that were not there before; no two have one name."""
        self.world.settle()
        found = [vm for vm in self.world.vms.values() if vm.vmid not in self.foreign["vms"] and not vm.template]
        names = [vm.name for vm in found]
        assert len(set(names)) == len(names), f"a node has two VMs: {names}"
        return {vm.name: vm for vm in found}

    def new_volumes(self, kind: str = "") -> list[str]:
        """Of this kind (`-seed-`, `-claim-`, `-image-`), without those that were there before."""
        self.world.settle()
        return sorted(name for name in self.world.volumes if kind in name and name not in self.foreign["volumes"])

    def calls(self, method: str, pattern: str) -> list[tuple[str, str, str]]:
        return [call for call in self.world.calls if call[0] == method and re.search(pattern, call[1])]

    def assert_clean(self) -> None:
        """Nothing of any cluster is left, and all else is byte for byte what it was."""
        assert self.kept() == self.foreign
        assert not self.lab.control.list_machines()
        assert not self.guests.problems


class _Counted(dict[int, VM]):
    """VMs by VMID; each new one is counted."""

    def __init__(self, vms: dict[int, VM], made: list[int]) -> None:
        super().__init__(vms)
        self._made = made

    def __setitem__(self, vmid: int, vm: VM) -> None:
        self._made.append(vmid)
        super().__setitem__(vmid, vm)


def _without_times(vm: VM) -> VM:
    kept = copy.deepcopy(vm)
    kept.listed = None
    return kept


@contextmanager
def site(labs: LabLoop, version: str, **options: Any) -> Iterator[Site]:
    """A Proxmox cluster of two nodes, on which others have VMs, images and seeds, too.

    `version`: of Talos in the image; `options`: of the simulator.
    """
    network = free_network()
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    world = Proxmox(NODES, **options)
    lab = LabServer(folder, LabOptions(clock="instant", network=network, token="let-me-in"))
    labs.result(lab.start())
    guests = LabGuests(lab, labs.loop, version)
    guests.behind(world)
    try:
        with serving(world) as server:
            here = Site(world, server, lab, guests, world.tokens["root"])
            _others(world)
            here.foreign = here.kept()
            world.vms = _Counted(world.vms, here.made)
            yield here
    finally:
        labs.result(lab.stop())
        shutil.rmtree(folder, ignore_errors=True)


def _others(world: Proxmox) -> None:
    """Near to what talosmith looks for, and not this cluster's."""
    world.add_lvm_thin("local-lvm")
    for node in NODES:
        world.add_volume(ISO, content=b"boots Talos", node=node)
    stranger = "talosmith machine cluster=talos id=fedcba9876543210 node=talos-cp-01 role=controlplane vmid=150"
    world.add_volume("local:101/vm-101-disk-0.raw", content=b"a router's disk", node="hydra")
    world.add_vm(101, "router", node="hydra", status="running", scsi0="local:101/vm-101-disk-0.raw,size=15")
    world.add_vm(150, "talos-cp-01", "talosmith;talosmith-fedcba9876543210", f"{stranger}\n", node="pve1")
    world.add_vm(151, "copied", "talosmith", f"{stranger}\n", node="hydra")  # the line is of another VMID
    world.add_volume(
        "local:iso/talosmith-fedcba9876543210-seed-talos-cp-01-0123456789abcdef.iso", content=b"seed", node="hydra"
    )
    world.add_volume("local:iso/debian.iso", content=b"boots Debian", node="hydra")
    world.add_volume("local:import/debian.qcow2", content=b"is Debian", node="pve1")


@dataclass(slots=True)
class Computer(Here):
    """Where somebody runs talosmith on an example, which is changed no more than an address needs.

    It is without add-ons: these tests are about machines, and charts would be pulled for each.
    """

    site: Site = None  # type: ignore[assignment]
    example: str = "proxmox"
    token: tuple[str, str] = ("", "")  # id and secret; the site's if left out
    closing: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def make(cls, kit: Kit, folder: Path, at: Site, example: str = "proxmox", token: str = "") -> Computer:
        """`token`: one of the simulator's by name."""
        root = Path(tempfile.mkdtemp(dir=folder))
        given = at.world.tokens[token] if token else ("", "")
        return cls(kit, root, str(at.lab.world.subnet), site=at, example=example, token=given)

    def __post_init__(self) -> None:
        Here.__post_init__(self)
        self.token = self.token if self.token[0] else self.site.token
        for file in (EXAMPLES / self.example).glob("*.yaml"):
            shutil.copy(file, self.folder)
        inventory = self.folder / "cluster.yaml"
        inventory.write_text(inventory.read_text().partition("\naddons:\n")[0])
        server = self.site.server
        prefix = self.network.removesuffix("0/24")
        if self.example == "proxmox":
            self.change("cluster.yaml", ("192.168.1.10:8006", f"127.0.0.1:{server.port}"))
            self.change("cluster.yaml", ('# fingerprint: "AA:BB:…"', f'fingerprint: "{server.fingerprint}"'))
            self.change("cluster.yaml", ("sops:proxmox.token #", "env:PROXMOX_TOKEN #"))
            self.change("cluster.yaml", ("talosmith@pve!cluster", self.token[0]))
            self.change("cluster.yaml", ("192.168.1.", prefix))
            self.change("nodes.yaml", ("192.168.1.", prefix))
        else:
            self.change("nodes.yaml", ("10.0.10.", prefix))
            for mac, number in {"52:54:00:c1:00:01": 11, "52:54:00:c2:00:01": 21, "52:54:00:c2:00:02": 22}.items():
                self.site.guests.leases[mac] = f"{prefix}{number}"

    @property
    def env(self) -> dict[str, str]:
        return {**Here.env.__get__(self), **self.access}

    @property
    def access(self) -> dict[str, str]:
        name, secret = self.token
        if self.example == "proxmox":
            return {"PROXMOX_TOKEN": secret}
        server = self.site.server
        return {
            "PROXMOX_VE_URL": server.url,
            "PROXMOX_VE_API_TOKEN": f"{name}={secret}",
            "PROXMOX_VE_FINGERPRINT": server.fingerprint,
        }

    @property
    def name(self) -> str:
        """The cluster's."""
        return {"proxmox": "talos", "proxmox-inventory": "dev"}[self.example]

    @property
    def controlplanes(self) -> list[str]:
        return {"proxmox": ["talos-cp-01"], "proxmox-inventory": ["dev-cp-1"]}[self.example]

    @property
    def names(self) -> list[str]:
        """Of all nodes."""
        workers = {"proxmox": ["talos-w-01", "talos-w-02"], "proxmox-inventory": ["dev-wk-1"]}
        return [*self.controlplanes, *workers[self.example]]

    @property
    def destroying(self) -> tuple[str, ...]:
        return ("destroy", "--yes", "--confirm", self.name)

    def destroy(self, *argv: str, **options: Any) -> Ended:
        return self.run(*self.destroying, *argv, **options)

    @property
    def lab(self) -> LabClient:
        lab = self.site.lab
        return LabClient("behind Proxmox", *lab.address, Secret(lab.options.token))

    def end(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.closing.close()

    # The inventory

    def make_secrets(self) -> None:
        """Of its own, where the computer had none before; so it is another cluster."""
        for name in (SECRETS_FILE, RULES_FILE):
            (self.folder / name).unlink()
        shutil.rmtree(self.root / "config")
        assert SECRETS_FILE in self.must("secrets", "init")

    def use_token(self, token: tuple[str, str]) -> None:
        if self.example == "proxmox":
            self.change("cluster.yaml", (self.token[0], token[0]))
        self.token = token

    def boots_from(self, what: str) -> None:
        """A volume of Proxmox (`local:iso/…`), or a file of this computer that is made for it."""
        kind = "iso" if self.example == "proxmox" else "image"
        if ":" not in what:
            file = self.root / what
            raw = b"boots Talos".ljust(512, b"\1") + bytes(1024 * 1024)
            file.write_bytes(iso({"vmlinuz": raw}) if kind == "iso" else raw)
            what = str(file)
        boot = {"proxmox": "boot: iso", "proxmox-inventory": "boot: template"}[self.example]
        self.change("cluster.yaml", (f"  {boot}", f"  {boot}\n  {kind}: {what}"))
