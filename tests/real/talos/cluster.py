"""A cluster of real nodes as an administrator makes it: with `talosctl`, generated configs and the lab's patch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.talos import machine_config
from tests.real.talos.lab import Lab, Node, wait_until
from tools.peers import find
from tools.peers.node_recipes import KUBERNETES_VERSION

_A_CALL = 60
JOIN = 240  # learners become members one at a time, up to 100 s each on a busy machine


class TalosctlFailed(Exception):
    """`talosctl` ended with an error; the message is what it wrote."""


def talosctl(*arguments: str | Path, seconds: float = _A_CALL) -> str:
    """What `talosctl` wrote to its standard output."""
    command = [find("talosctl"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if result.returncode:
        raise TalosctlFailed(f"{' '.join(map(str, arguments))}: {result.stderr}{result.stdout}")
    return result.stdout


@dataclass(frozen=True)
class Cluster:
    lab: Lab
    folder: Path
    control_planes: tuple[Node, ...]
    workers: tuple[Node, ...] = ()
    kubernetes: bool = False

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.control_planes + self.workers

    @property
    def talosconfig(self) -> Path:
        return self.folder / "talosconfig"

    def config(self, node: Node) -> Path:
        return self.folder / ("worker.yaml" if node in self.workers else "controlplane.yaml")

    def generate(self) -> None:
        """Secrets, machine configs and talosconfig."""
        everywhere = machine_config.patch(self.lab, kubernetes=self.kubernetes)
        control_plane = machine_config.controlplane_patch(self.lab)
        first = self.control_planes[0].address
        addresses = [node.address for node in self.control_planes]
        talosctl(
            *("gen", "config", "real", f"https://{first}:6443", "--output", self.folder, "--force"),
            *("--kubernetes-version", KUBERNETES_VERSION.removeprefix("v"), "--install-disk", ""),
            *("--config-patch", json.dumps(everywhere), "--config-patch-control-plane", json.dumps(control_plane)),
        )
        self("config", "endpoint", *addresses)
        self("config", "node", first)

    def come_up(self) -> None:
        """From machines that are off to a running cluster with every control plane in etcd."""
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_for_api()
        self.generate()
        self.apply(*self.nodes)
        self.bootstrap()
        self.wait_for_members(len(self.control_planes))
        self.wait_for_stage("running")

    def apply(self, *nodes: Node) -> None:
        """Give nodes in maintenance mode their config."""
        for node in nodes:
            talosctl("apply-config", "--insecure", "--nodes", node.address, "--file", self.config(node))

    def bootstrap(self) -> None:
        """Start etcd on the first control plane, as soon as it can be asked to."""
        first = self.control_planes[0]
        self.wait_for_service(first, "etcd", "Preparing", "Waiting")
        self("bootstrap", node=first)
        self.wait_for_members(1)

    def __call__(self, *arguments: str | Path, node: Node | None = None, seconds: float = _A_CALL) -> str:
        """`talosctl` as the administrator of this cluster."""
        target = ("--nodes", node.address, "--endpoints", node.address) if node else ()
        return talosctl("--talosconfig", self.talosconfig, *arguments, *target, seconds=seconds)

    def services(self, node: Node) -> dict[str, str]:
        """State of each service of a node."""
        lines = self("service", node=node).splitlines()[1:]
        return {fields[1]: fields[2] for fields in map(str.split, lines)}

    def get(self, node: Node, *what: str) -> list[dict[str, Any]]:
        """Resources of a node, as `talosctl get` prints them."""
        text = self("get", *what, "-o", "json", node=node)
        decoder, found, at = json.JSONDecoder(), [], 0
        while at < len(text.rstrip()):
            document, at = decoder.raw_decode(text, at)
            at += len(text[at:]) - len(text[at:].lstrip())
            found.append(document)
        return found

    def stage(self, node: Node) -> str:
        return str(self.get(node, "machinestatus")[0]["spec"]["stage"])

    def members(self, node: Node | None = None) -> dict[str, bool]:
        """Host name of each member of etcd, and whether it is only a learner yet."""
        lines = self("etcd", "members", node=node or self.control_planes[0]).splitlines()[1:]
        return {fields[2]: fields[-1] == "true" for fields in map(str.split, lines)}

    def wait_for_members(self, count: int, seconds: float = JOIN, node: Node | None = None) -> None:
        """Until etcd has that many members that vote; learners may be among the others."""

        def joined() -> bool:
            try:
                members = self.members(node)
            except TalosctlFailed:
                return False
            return list(members.values()).count(False) == count

        wait_until(joined, seconds, lambda: f"etcd has not {count} voting members: {self._consoles()}", pause=1)

    def wait_for_service(self, node: Node, service: str, *states: str, seconds: float = 60) -> None:
        def reached() -> bool:
            try:
                return self.services(node).get(service) in states
            except TalosctlFailed:
                return False

        wait_until(reached, seconds, lambda: f"{service} on {node.name} is not {states}: {node.console[-3000:]}")

    def wait_for_stage(self, stage: str, nodes: Sequence[Node] = (), seconds: float = 60) -> None:
        def reached() -> bool:
            try:
                return all(self.stage(node) == stage for node in nodes or self.nodes)
            except TalosctlFailed:
                return False

        wait_until(reached, seconds, lambda: f"not all are {stage}: {self._consoles()}", pause=0.5)

    def _consoles(self) -> str:
        return "\n".join(f"{node.name}: {node.console[-1500:]}" for node in self.nodes)
