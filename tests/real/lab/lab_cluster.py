"""A lab as a person uses it: `talosmith lab` in the background, configs rendered from an inventory, `talosctl`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.desired.machine import MachineConfigs
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.inventory import check
from talosmith.model.cluster import Cluster
from talosmith.model.versions import RECOMMENDED, TALOS_LINES, TalosLine, Version
from talosmith.providers.lab.client import LabClient
from talosmith_lab.versions import line_of
from tests.lab.lab_worlds import quick_bundle

INVENTORY = """\
cluster_name: {name}
talos_version: {talos}
kubernetes_version: {kubernetes}
lab: {{}}
network: {{node_cidr: {network}}}
controlplane: 3
workers: 2
"""
PATIENCE = 240.0  # costs nothing while all is well, and a busy machine may need it
PATIENTLY = ("--timeout", "3m")  # the same for `talosctl` itself: it is to give up first, and say why
API_PORT = 50000


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


@dataclass
class LabCluster:
    """Five machines in one lab. Nothing is done to them but what a test asks for."""

    talosctl: Path
    folder: Path
    name: str
    network: str
    clock: str
    talos: str = RECOMMENDED.latest
    cluster: Cluster = field(init=False)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        inventory = self.folder / "inventory"
        inventory.mkdir()
        text = INVENTORY.format(
            name=self.name, network=self.network, talos=self.talos, kubernetes=self.line.kubernetes
        )
        (inventory / "cluster.yaml").write_text(text, encoding="utf-8")
        self.cluster = check(inventory, None).cluster
        bundle = quick_bundle()
        for node, rendered in MachineConfigs(self.cluster, bundle):
            (self.folder / f"{node.name}.yaml").write_text(rendered.text, encoding="utf-8")
        endpoints = [str(node.ip) for node in self.cluster.controlplanes]
        talosconfig = new_talosconfig(self.name, bundle.os, endpoints=endpoints, nodes=endpoints[:1])
        (self.folder / "talosconfig").write_text(talosconfig.to_text().reveal(), encoding="utf-8")
        self.lab("start", self.name, "--clock", self.clock, "--network", self.network)
        for node in self.cluster.nodes:
            hardware = ("--address", str(node.ip), "--mac", str(node.mac), "--talos-version", self.talos)
            self.lab("machine", "create", node.name, *hardware)
        self.wait_for_maintenance(*(node.name for node in self.cluster.nodes))

    def stop(self) -> None:
        self.lab("stop", self.name, "--delete")

    @property
    def line(self) -> TalosLine:
        return TALOS_LINES[Version.parse(self.talos).line]

    # The two tools

    def lab(self, *arguments: str) -> Said:
        """`talosmith lab`, which must work."""
        said = self._run([sys.executable, "-m", "talosmith", "lab", *arguments])
        assert said.code == 0, said.all
        return said

    @property
    def client(self) -> LabClient:
        """The same way in that the command uses; to look often without starting it each time."""
        return LabClient.from_file(self.name, self.folder / "state/talosmith/labs" / self.name / "lab.json")

    def machines(self) -> list[dict[str, Any]]:
        return self.client.machines()

    def status(self) -> dict[str, Any]:
        return self.client.status()

    def ctl(self, *arguments: str, seconds: float = PATIENCE) -> Said:
        return self._run([str(self.talosctl), *map(self.filled, arguments)], seconds)

    def done(self, *arguments: str, seconds: float = PATIENCE) -> str:
        """What `talosctl` said about something that must work."""
        said = self.ctl(*arguments, seconds=seconds)
        assert said.code == 0, f"talosctl {' '.join(arguments)}: {said.all}"
        return said.out

    def filled(self, text: str) -> str:
        """`<cp-1>` is that node's address, `<folder>` ours, `<talos>` the version."""
        for node in self.cluster.nodes:
            text = text.replace(f"<{node.name}>", str(node.ip))
        for name, version in (("talos", self.talos), ("kubernetes", self.line.kubernetes)):
            text = text.replace(f"<{name}>", version)
        text = text.replace("<etcd>", line_of(self.talos).etcd)
        return text.replace("<folder>", str(self.folder)).replace("<vip>", str(self.cluster.network.vip))

    def _run(self, command: list[str], seconds: float = PATIENCE) -> Said:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self.environment,
            cwd=self.folder,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def watching(self, *arguments: str) -> subprocess.Popen[str]:
        """`talosctl` that goes on until it is ended."""
        return subprocess.Popen(
            [str(self.talosctl), *map(self.filled, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            cwd=self.folder,
        )

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TALOSCONFIG": str(self.folder / "talosconfig"),
            "TALOSMITH_LAB": self.name,
            "HOME": str(self.folder),
            "TERM": "xterm-256color",
        }

    # The way to a cluster

    def wait(self, what: str, until: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        end = time.monotonic() + seconds
        while not (found := until()):
            assert time.monotonic() < end, f"waited {seconds} s for {what}: {self.lab('machine', 'list').out}"
            time.sleep(0.1)
        return found

    def stage(self, name: str) -> str:
        return next(str(one["stage"]) for one in self.machines() if one["name"] == name)

    def wait_for_maintenance(self, *names: str) -> None:
        """In maintenance mode, and its API answers: that comes up a moment after the mode is told."""
        self.wait(
            "maintenance mode",
            lambda: all(self.stage(name) == "maintenance" and _answers(self.filled(f"<{name}>")) for name in names),
        )

    def apply_configs(self) -> None:
        for node in self.cluster.nodes:
            said = self.done("apply-config", "--insecure", "-n", str(node.ip), "-f", f"{node.name}.yaml")
            assert said == ""

    def bootstrap(self) -> None:
        """Three etcd members and two workers, all ready."""
        self.wait("etcd to wait", lambda: "Preparing" in self.ctl("service", "etcd").out)
        self.done("bootstrap")
        self.wait("everybody", self.is_well)

    def is_well(self) -> bool:
        return (
            all(one["ready"] and one["stage"] == "running" for one in self.machines())
            and len(self.members()) == 3
            and self.states() == {"voter"}
        )

    def members(self) -> dict[str, str]:
        clusters = self.status()["etcd"]
        return dict(clusters[0]["members"]) if clusters else {}

    def states(self) -> set[str]:
        return set(self.members().values())

    def leader(self) -> str:
        return str(self.status()["etcd"][0]["leader"])


def _answers(address: str) -> bool:
    with suppress(OSError), socket.create_connection((address, API_PORT), 10):
        return True
    return False
