"""One cluster in a lab of its own, and the commands that are run on it, each in a process of its own."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import RULES_FILE, SECRETS_FILE, create_secrets
from talosmith.desired.target import owner_of
from talosmith.inventory import load
from talosmith.model.machines import Owner
from talosmith.model.versions import RECOMMENDED, TALOS_LINES, TalosLine
from talosmith.providers.lab import lab_name
from talosmith.providers.lab.client import LabClient
from tests.waiting import PATIENCE, until

OLD = TALOS_LINES[1, 13]
UP = ("up", "--yes")
DESTROY = ("destroy", "--yes", "--confirm", "mine")
INVENTORY = """\
cluster_name: mine
talos_version: {talos}
kubernetes_version: {kubernetes}
lab: {{clock: {clock}}}
network: {{node_cidr: {network}}}
controlplane: {controlplanes}
workers: {workers}
"""


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    def events(self) -> list[dict[str, Any]]:
        """What was told with `-o json`."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


class Running:
    """A command that runs. Used as a context, it is killed at the end of it if it still does."""

    def __init__(self, warm: str, request: Mapping[str, Any]) -> None:
        self._request = request
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(warm)
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self._said = b""
        self.pid = int(self._line(PATIENCE)["pid"])
        self._ended: Ended | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ended is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
            self.wait()

    def signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def wait(self, seconds: float = PATIENCE) -> Ended:
        if self._ended is None:
            code = int(self._line(seconds)["rc"])
            self._ended = Ended(code, self.out, self.err)
            self._connection.close()
        return self._ended

    def _line(self, seconds: float) -> dict[str, Any]:
        self._connection.settimeout(seconds)
        while b"\n" not in self._said:
            try:
                more = self._connection.recv(4096)
            except TimeoutError:
                raise AssertionError(f"still running after {seconds} s: {self.out}{self.err}") from None
            assert more, f"the warm parent is gone: {self.out}{self.err}"
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    @property
    def out(self) -> str:
        return _text(self._request["stdout"])

    @property
    def err(self) -> str:
        return _text(self._request["stderr"])

    def until(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """While it runs, that is."""

        def so_or_never() -> bool:
            over = self._ended is not None or bool(select.select([self._connection], [], [], 0)[0])
            if condition():
                return True
            assert not over, f"it has ended before: {self.out}{self.err}"
            return False

        until(so_or_never, seconds, lambda: self.out + self.err)

    def pause(self) -> None:
        """It is stopped, and does nothing more from now on."""
        self.signal(signal.SIGSTOP)
        self.until(lambda: all(_is_stopped(thread) for thread in Path(f"/proc/{self.pid}/task").iterdir()))


@dataclass(frozen=True, slots=True)
class Kit:
    """What all places of a test session share: the warm parent, and secrets. Making them is not what is tested."""

    warm: str
    folder: Path
    bundle: Bundle

    @classmethod
    def make(cls, warm: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
        bundle = Bundle.generate(contract=(1, 13))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        create_secrets(folder, bundle)
        shutil.copy(folder / "config" / "sops" / "age" / "keys.txt", folder)
        return cls(warm, folder, bundle)


@contextmanager
def warm_kit(folder: Path, start: Callable[[Path], tuple[subprocess.Popen[Any], str]]) -> Iterator[Kit]:
    """`start`: starts a warm parent, and returns where it listens."""
    process, path = start(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            made = Kit.make(path, folder, patch)
        yield made
    finally:
        process.kill()
        process.wait()


@dataclass(slots=True)
class Here:
    """A folder with an inventory and secrets, and what belongs to one user: state, config and temporary files."""

    kit: Kit
    root: Path
    network: str
    runs: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        for name in (SECRETS_FILE, RULES_FILE):
            shutil.copy(self.kit.folder / name, self.folder)
        key = self.root / "config" / "sops" / "age" / "keys.txt"
        key.parent.mkdir(parents=True)
        shutil.copy(self.kit.folder / "keys.txt", key)

    @property
    def folder(self) -> Path:
        return self.root / "cluster"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"):
            place = self.root / name.lower().removeprefix("xdg_").removesuffix("_home")
            place.mkdir(exist_ok=True)
            kept[name] = str(place)
        return kept

    def write(
        self,
        controlplanes: object = 1,
        workers: object = 1,
        clock: str = "instant",
        more: str = "",
        line: TalosLine = RECOMMENDED,
    ) -> None:
        self.folder.mkdir(exist_ok=True)
        versions = {"talos": line.latest, "kubernetes": line.kubernetes}
        nodes = {"controlplanes": controlplanes, "workers": workers}
        text = INVENTORY.format(clock=clock, network=self.network, **nodes, **versions)
        (self.folder / "cluster.yaml").write_text(text + more)

    def change(self, file: str, *changes: tuple[str, str]) -> None:
        """Text of the inventory, each of which must be there."""
        path = self.folder / file
        text = path.read_text()
        for before, after in changes:
            assert before in text, f"{before!r} is not in {file}"
            text = text.replace(before, after)
        path.write_text(text)

    # Commands

    def start(
        self,
        *argv: str,
        before: tuple[str, dict[str, Any]] | None = None,
        env: Mapping[str, str] | None = None,
        tty: str = "",
    ) -> Running:
        self.runs += 1
        outputs = self.root / "outputs"
        outputs.mkdir(exist_ok=True)
        request = {
            "argv": argv if argv[0] == "lab" or argv[0].startswith("-") else [*argv, "-i", str(self.folder)],
            "env": {**self.env, **(env or {})},
            "stdout": str(outputs / f"{self.runs}.out"),
            "stderr": str(outputs / f"{self.runs}.err"),
            "before": before,
            "tty": tty,
        }
        return Running(self.kit.warm, request)

    def run(self, *argv: str, **options: Any) -> Ended:
        with self.start(*argv, **options) as running:
            return running.wait()

    def must(self, *argv: str, code: int = 0, **options: Any) -> str:
        """The command's output, if it ends so."""
        ended = self.run(*argv, **options)
        assert ended.code == code, f"{' '.join(argv)}: {ended.code}\n{ended.said}"
        assert "Traceback" not in ended.said, ended.said
        return ended.said

    def up(self, *argv: str, **options: Any) -> Ended:
        return self.run(*UP, *argv, **options)

    def destroy(self, *argv: str, **options: Any) -> Ended:
        return self.run(*DESTROY, *argv, **options)

    def plan(self, *argv: str) -> dict[str, Any]:
        ended = self.run("plan", "-o", "json", *argv)
        assert ended.code in (0, 2, 6), ended.said
        found: dict[str, Any] = json.loads(ended.out)
        assert ended.code == (6 if found["blocked"] else 0 if found["in_sync"] else 2)
        assert found["in_sync"] == (not found["steps"] and not found["blocked"] and not found["drift"])
        return found

    def steps(self, *argv: str) -> list[str]:
        return [step["key"] for step in self.plan(*argv)["steps"]]

    # The world

    @property
    def owner(self) -> Owner:
        return owner_of(load(self.folder), self.kit.bundle)

    @property
    def lab_folder(self) -> Path:
        return self.state / "talosmith" / "labs" / lab_name(self.owner)

    @property
    def state_folder(self) -> Path:
        return self.state / "talosmith" / "clusters" / f"{self.owner.cluster}-{self.owner.id}"

    @property
    def lab(self) -> LabClient:
        return LabClient.from_file(lab_name(self.owner), self.lab_folder / "lab.json")

    def make_lab(self, seed: int = 0, clock: str = "instant") -> LabClient:
        """Before any machine is in it, for faults that are there from the first call on."""
        made = ("--clock", clock, "--seed", str(seed), "--network", self.network)
        ended = self.run("lab", "start", lab_name(self.owner), *made)
        assert ended.code == 0, ended.said
        return self.lab

    def machines(self) -> dict[str, dict[str, Any]]:
        return {machine["name"]: machine for machine in self.lab.machines()}

    def etcd(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.lab.status()["etcd"]
        return found

    def calls(self) -> dict[str, dict[str, int]]:
        """What the lab was asked for, by `machine method`: how often, and how often it was carried out."""
        found: dict[str, dict[str, int]] = self.lab.call("calls")
        return found

    def done(self, method: str) -> int:
        return sum(one["done"] for key, one in self.calls().items() if key.rpartition(" ")[2] == method)

    def end(self) -> None:
        """The lab's process goes, with its world."""
        for running in (self.state / "talosmith" / "labs").glob("*/lab.json"):
            client = LabClient.from_file(running.parent.name, running)
            pid = json.loads(running.read_text())["pid"]
            client.stop()
            until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), told=lambda: "the lab does not stop")
        shutil.rmtree(self.root, ignore_errors=True)


def in_vain(*trouble: str) -> tuple[str, dict[str, Any]]:
    """For `before`: who waits because of this trouble waits in vain, and its limit is over."""
    return ("tests.lab.up.hooks:limits_over", {"trouble": trouble})


def _is_stopped(thread: Path) -> bool:
    try:
        return (thread / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "T"
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return True


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).exists() else ""
