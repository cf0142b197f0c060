"""A lab whose Kubernetes is real, as a person starts it, and the real `kubectl` to look at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.inventory import check
from talosmith.model.cluster import Cluster
from talosmith.model.secret import Secret
from talosmith.providers.lab.client import LabClient
from tests.lab.lab_worlds import quick_bundle
from tests.loopback import free_network

INVENTORY = """\
cluster_name: {name}
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{kubernetes: real}}
network: {{node_cidr: {network}{vip}}}
controlplane: {controlplanes}
workers: 1
"""
PATIENCE = 300.0  # costs nothing while all is well, and a busy machine may need it
PATIENTLY = "--timeout=4m"  # kubectl is to give up before we do, and say why


@dataclass
class RealLab:
    """`binaries` are folders of etcd and Kubernetes' programs, as in PATH."""

    peer: Callable[[str], Path]
    folder: Path
    binaries: str
    controlplanes: int = 1
    name: str = field(init=False)
    cluster: Cluster = field(init=False)
    bundle: Bundle = field(init=False)

    def __post_init__(self) -> None:
        network = free_network()
        self.name = f"rk-{network.split('.')[1]}-{network.split('.')[2]}"
        inventory = self.folder / "inventory"
        inventory.mkdir(parents=True)
        vip = f", vip: {network.rpartition('.')[0]}.9" if self.controlplanes > 1 else ""
        text = INVENTORY.format(name=self.name, network=network, vip=vip, controlplanes=self.controlplanes)
        (inventory / "cluster.yaml").write_text(text)
        self.cluster = check(inventory, None).cluster
        # Unlike the lab's own, a real API server takes keys of the right size only.
        self.bundle = replace(quick_bundle(), secretbox_encryption_secret=Secret(pki.to_base64("b" * 32)))
        endpoints = [str(node.ip) for node in self.cluster.controlplanes]
        talosconfig = new_talosconfig(self.name, self.bundle.os, endpoints=endpoints, nodes=endpoints[:1])
        (self.folder / "talosconfig").write_text(talosconfig.to_text().reveal())

    def start(self) -> None:
        network = str(self.cluster.network.node_cidr)
        options = ("--clock", "fast", "--network", network)
        self.lab("start", self.name, *options, "--kubernetes", "real", "--kubernetes-binaries", self.binaries)
        for node, rendered in MachineConfigs(self.cluster, self.bundle):
            self.client.create_machine(node.name, address=str(node.ip), mac=str(node.mac), config=rendered.text)
        self.wait("etcd to wait", lambda: "Preparing" in self.ctl("service", "etcd").stdout)
        self.ctl("bootstrap", check=True)
        self.wait("all machines", lambda: all(one["ready"] for one in self.client.machines()))
        self.ctl("kubeconfig", str(self.folder / "kubeconfig"), "--force", "--merge=false", check=True)
        self.wait("all nodes", lambda: self.ready_nodes() == {node.name for node in self.cluster.nodes})

    def stop(self) -> None:
        self.lab("stop", self.name, "--delete")

    @property
    def place(self) -> Path:
        return self.folder / "state/talosmith/labs" / self.name

    @property
    def client(self) -> LabClient:
        return LabClient.from_file(self.name, self.place / "lab.json")

    @property
    def pid(self) -> int:
        return int(json.loads((self.place / "lab.json").read_text())["pid"])

    def processes(self) -> list[str]:
        """Programs whose command line names the lab's folder."""
        listed = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True).stdout
        return [Path(line.split()[0]).name for line in listed.splitlines() if str(self.place) in line]

    def lab(self, *arguments: str) -> str:
        return self._run([sys.executable, "-m", "talosmith", "lab", *arguments], check=True).stdout

    def ctl(self, *arguments: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        return self._run([str(self.peer("talosctl")), *arguments], check=check)

    def kubectl(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        kubeconfig = str(self.folder / "kubeconfig")
        return self._run([str(self.peer("kubectl")), "--kubeconfig", kubeconfig, *arguments], check=check)

    def get(self, *arguments: str) -> dict[str, Any]:
        """As JSON; nothing while nobody answers."""
        said = self.kubectl("get", *arguments, "-o", "json", "--request-timeout=30s", check=False)
        return json.loads(said.stdout) if said.returncode == 0 else {}

    def found(self, *arguments: str) -> dict[str, Any]:
        """As JSON; what is asked for is there, though the server may be busy."""
        return dict(self.wait(f"{' '.join(arguments)}", lambda: self.get(*arguments)))

    def ready_nodes(self) -> set[str]:
        return {
            node["metadata"]["name"]
            for node in self.get("nodes").get("items", ())
            for one in node.get("status", {}).get("conditions", ())
            if one["type"] == "Ready" and one["status"] == "True"
        }

    def wait(self, what: str, until: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        end = time.monotonic() + seconds
        while not (found := until()):
            assert time.monotonic() < end, f"waited {seconds} s for {what}; see {self.place}"
            time.sleep(0.2)
        return found

    def _run(self, command: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TALOSCONFIG": str(self.folder / "talosconfig"),
            "HOME": str(self.folder),
        }
        said = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env=environment, cwd=self.folder, check=False
        )
        assert said.returncode == 0 or not check, f"{command}: {said.stdout}{said.stderr}"
        return said
