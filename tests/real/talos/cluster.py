"""A cluster of real nodes as an administrator makes it: with `talosctl`, generated configs and the lab's patch."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.talos import machine_config
from tests.real.talos.lab import LONG, Lab, Node, wait_until
from tests.real.talos.releases import NEWEST, Release
from tools.peers import find

_A_CALL = 60
JOIN = 900  # learners become members one at a time, up to 100 s each on a busy machine, and there are slower ones
_PASSES = re.compile(  # what a node, or its etcd, says for the moment only
    r"code = (Unavailable|FailedPrecondition|DeadlineExceeded|Canceled|Aborted|ResourceExhausted)"
    r"|no answer within|no leader|leader changed|unhealthy cluster|request timed out|too many requests|server stopped"
)


class TalosctlFailed(Exception):
    """`talosctl` ended with an error; the message is what it wrote."""


def talosctl(*arguments: str | Path, seconds: float = _A_CALL, release: Release = NEWEST) -> str:
    """What `talosctl` wrote to its standard output."""
    command = [find(release.talosctl), *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise TalosctlFailed(f"{' '.join(map(str, arguments))}: no answer within {seconds:g} s") from None
    if result.returncode:
        raise TalosctlFailed(f"{' '.join(map(str, arguments))}: {result.stderr}{result.stdout}")
    return result.stdout


def patiently(*arguments: str | Path, already: str = "", release: Release = NEWEST) -> str:
    """As `talosctl`, asked again where that may help.

    An answer may be lost, though the node did what it was asked for; `already` are the words it has for that.
    """
    said: list[str] = []
    answers: list[str] = []

    def answered() -> bool:
        try:
            answers.append(talosctl(*arguments, release=release))
        except TalosctlFailed as wrong:
            if already and said and already in str(wrong):
                answers.append("")
            elif not _PASSES.search(str(wrong)):
                raise
            said.append(str(wrong))
        return bool(answers)

    wait_until(answered, JOIN, lambda: said[-1], pause=0.5)
    return answers[0]


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
    def release(self) -> Release:
        return self.control_planes[0].release

    @property
    def talosconfig(self) -> Path:
        return self.folder / "talosconfig"

    def config(self, node: Node) -> Path:
        return self.folder / ("worker.yaml" if node in self.workers else "controlplane.yaml")

    def generate(self) -> None:
        """Secrets, machine configs and talosconfig."""
        everywhere = machine_config.patches(self.lab, self.release, kubernetes=self.kubernetes)
        control_plane = machine_config.controlplane_patches(self.lab, self.release)
        first = self.control_planes[0].address
        addresses = [node.address for node in self.control_planes]
        talosctl(
            *("gen", "config", "real", f"https://{first}:6443", "--output", self.folder, "--force"),
            *("--kubernetes-version", self.release.kubernetes.removeprefix("v")),
            *(f"--config-patch={json.dumps(patch)}" for patch in everywhere),
            *(f"--config-patch-control-plane={json.dumps(patch)}" for patch in control_plane),
            seconds=LONG,  # keys take their time
            release=self.release,
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
            insecure = ("--insecure", "--nodes", node.address)
            patiently(
                *("apply-config", *insecure, "--file", self.config(node)),
                already="tls: certificate required",
                release=self.release,
            )

    def bootstrap(self) -> None:
        """Start etcd on the first control plane, as soon as it can be asked to."""
        first = self.control_planes[0]
        self.wait_for_service(first, "etcd", "Preparing", "Waiting")
        self.surely("bootstrap", node=first, already="code = AlreadyExists")
        self.wait_for_members(1)

    def __call__(self, *arguments: str | Path, node: Node | None = None, seconds: float = _A_CALL) -> str:
        """`talosctl` as the administrator of this cluster, asked once."""
        return talosctl(*self._as_administrator(arguments, node), seconds=seconds, release=self.release)

    def surely(self, *arguments: str | Path, node: Node | None = None, already: str = "") -> str:
        """As above, `patiently`."""
        return patiently(*self._as_administrator(arguments, node), already=already, release=self.release)

    def _as_administrator(self, arguments: Sequence[str | Path], node: Node | None) -> list[str | Path]:
        target = ("--nodes", node.address, "--endpoints", node.address) if node else ()
        return ["--talosconfig", self.talosconfig, *arguments, *target]

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

    def wait(self, holds: Callable[[], bool], what: Callable[[], object], seconds: float = LONG) -> None:
        """Until it holds; nodes that do not answer meanwhile are asked again."""
        last: list[TalosctlFailed] = []

        def reached() -> bool:
            try:
                return holds()
            except TalosctlFailed as wrong:
                last[:] = [wrong]
                return False

        def complaint() -> str:
            try:
                seen = what()
            except TalosctlFailed as wrong:
                seen = wrong
            return f"{seen} {last}\n{self._consoles()}"

        wait_until(reached, seconds, complaint, pause=0.5)

    def wait_for_members(self, count: int, seconds: float = JOIN, node: Node | None = None) -> None:
        """Until etcd has that many members that vote; learners may be among the others."""
        self.wait(
            lambda: list(self.members(node).values()).count(False) == count,
            lambda: f"etcd has not {count} voting members: {self.members(node)}",
            seconds,
        )

    def wait_for_service(self, node: Node, service: str, *states: str, seconds: float = LONG) -> None:
        self.wait(
            lambda: self.services(node).get(service) in states,
            lambda: f"{service} on {node.name} is not {states}: {self.services(node)}",
            seconds,
        )

    def wait_for_stage(self, stage: str, nodes: Sequence[Node] = (), seconds: float = LONG) -> None:
        self.wait(
            lambda: all(self.stage(node) == stage for node in nodes or self.nodes),
            lambda: f"not all are {stage}",
            seconds,
        )

    def _consoles(self) -> str:
        return "\n".join(f"{node.name}: {node.console[-1500:]}" for node in self.nodes)


def wait_for_maintenance(node: Node) -> None:
    """Its API answers, and it waits for a config."""
    said: list[str] = []

    def waits() -> bool:
        try:
            status = ("get", "machinestatus", "--insecure", "--nodes", node.address)
            said.append(talosctl(*status, release=node.release))
        except TalosctlFailed as wrong:
            said.append(str(wrong))
            return False
        return "maintenance" in said[-1]

    wait_until(waits, LONG, lambda: f"{said[-1]}\n{node.console[-3000:]}")
