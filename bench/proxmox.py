"""Three machines on a simulated Proxmox VE, next to Terraform's Proxmox provider: created, found unchanged, deleted.

Both talk to the same API, in turns, each from nothing to nothing. The simulator is a process of its own: it counts
calls, and its CPU seconds are nobody's. There are two paces: at `instant` tasks take no time, and what is left are
the tools themselves; at `realistic` tasks take as long as on a usual host, and it counts what a tool does meanwhile
and how late it notices that a task is over. A call is a request; connections are not counted.

Ours is what `up` and `destroy` do about machines, from the inventory to the end of the run, with the look at the host
before it; Talos, of which Terraform knows nothing, is not asked. Ours renders machine configs and makes the seeds in
each run, and waits until files are deleted. Terraform gets the seeds as files, by the module of `talosmith render
terraform`, and is initialized before; it looks at nothing before it begins, knows from its state what it made, and
does not wait for files that it deletes. Both upload the same image from the same file, and the machines that come of
it are compared. That nobody has the addresses is known at once here; on a network where nobody answers, that look
takes a second. The best of several turns counts: other work on the computer only ever adds. Terraform is OpenTofu
here, with bpg's provider.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.libvirt import ACTIONS, LIMIT, OURS, START, THEIRS, Took
from bench.machine_part import MACHINE_PART
from bench.measure import Cost, Result, command
from tools.peers import build, built, find
from tools.peers.bench_recipes import TOFU, TOFU_LIBVIRT, TOFU_PROXMOX

PACES: tuple[Literal["instant", "realistic"], ...] = ("instant", "realistic")
TURNS = 3
AGAIN = 3  # times in a turn that nothing is to be done: it is quick, and best compared with little noise
NODES = 3
_IMAGE_MIB = 64
_SUBNET = "127.200.0"  # where nobody is, which is known at once: no network of the bench's computer matters
_LIMIT = 120  # seconds in which a run is over, or hangs

Tool = Callable[[str], Cost]  # does one of the actions
Turn = dict[tuple[str, str], Took]  # by tool and action


def results() -> Iterator[Result]:
    for recipe in (TOFU, TOFU_PROXMOX, TOFU_LIBVIRT):  # the mirror of providers has them all
        if not built(recipe):
            print(f"  {recipe.name} {recipe.version}: building, once; it takes minutes", flush=True)
            build(recipe)
    for pace in PACES:
        yield from _compared(pace, [_turn(pace, ours_first=number % 2 == 0) for number in range(TURNS)])


def _turn(pace: str, *, ours_first: bool) -> Turn:
    """On a host of its own."""
    taken: Turn = {}
    seen = []
    with tempfile.TemporaryDirectory(prefix="pveb-") as scratch, _hosting(pace) as host:
        tools = _tools(Path(scratch), host)
        taken[OURS, START] = _took(host, tools[OURS], START, AGAIN)
        for name in tools if ours_first else reversed(tools):
            for action in ACTIONS:
                taken[name, action] = _took(host, tools[name], action, AGAIN if action == "again" else 1)
                if action == "up":
                    seen.append(host.made()["machines"])
            assert host.made() == {"machines": {}, "volumes": []}, f"{name} left something behind: {host.made()}"
    assert len(seen[0]) == NODES and seen[0] == seen[1], f"these are not the same machines: {seen}"
    return taken


def _took(host: Host, tool: Tool, action: str, times: int) -> Took:
    before = host.calls
    costs = [tool(action) for _ in range(times)]
    seconds, cpu = min(cost.seconds for cost in costs), min(cost.cpu for cost in costs)
    return Took(seconds, cpu, (host.calls - before) // times)


def _compared(pace: str, turns: list[Turn]) -> Iterator[Result]:
    def best(name: str, action: str, of: str) -> float:
        return min(float(getattr(turn[name, action], of)) for turn in turns)

    for action, told in ACTIONS.items():
        for of, shown in (("seconds", ".2f"), ("cpu", ".2f"), ("calls", ".0f")):
            ours, theirs = best(OURS, action, of), best(THEIRS, action, of)
            figures = f"{ours:{shown}} against {theirs:{shown}}"
            if start := best(OURS, START, of):
                figures += f"; {start:{shown}} of ours before the host is asked"
            yield Result(f"{NODES} machines {told}, {pace}, {of}: ours / OpenTofu's", figures, ours / theirs, LIMIT)


# The tools


def _tools(folder: Path, host: Host) -> dict[str, Tool]:
    from tests.real.terraform.tofu import NO_PROXY, mirror  # which needs what only a developer has

    inventory, resources = folder / "inventory", folder / "resources"
    (folder / "ca.pem").write_text(host.told["ca"])
    environment = {"HOME": str(folder)} | {
        f"XDG_{kind}_HOME": str(folder / kind) for kind in ("STATE", "CACHE", "CONFIG")
    }
    environment |= {
        "PROXMOX_VE_API_TOKEN": host.told["token"],
        "SSL_CERT_FILE": str(folder / "ca.pem"),
        "HTTP_PROXY": NO_PROXY,
        "HTTPS_PROXY": NO_PROXY,
        "NO_PROXY": "127.0.0.1",
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
    }
    _write_inventory(inventory, host, _write_image(folder))
    for asked in (["secrets", "init"], ["render", "terraform", "--out", str(resources)]):
        command([sys.executable, "-m", "talosmith", *asked, "-i", inventory], runs=1, environment=environment)
    environment["TF_CLI_CONFIG_FILE"] = str(mirror(folder / "mirror", find))

    def limited(*words: str | Path) -> Cost:
        return command(["timeout", "--signal=KILL", str(_LIMIT), *words], runs=1, environment=environment)

    def ours(action: str) -> Cost:
        return limited(sys.executable, "-c", MACHINE_PART, inventory, action)

    def tofu(*words: str) -> Cost:
        return limited(find("tofu"), f"-chdir={resources}", *words, "-no-color", "-input=false")

    def theirs(action: str) -> Cost:
        cost = tofu("destroy" if action == "destroy" else "apply", "-auto-approve")
        assert action != "again" or "No changes." in cost.said, cost.said
        return cost

    tofu("init")
    return {OURS: ours, THEIRS: theirs}


def _write_image(folder: Path) -> Path:
    """Large, and nothing in it that could be left out."""
    from tests.real.libvirt.halting import HALTS

    raw, image = folder / "image.raw", folder / "image.qcow2"
    random = hashlib.shake_256(b"image").digest(_IMAGE_MIB * 2**20 - len(HALTS))
    raw.write_bytes(HALTS + random)
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", raw, image], check=True)  # noqa: S607 - Debian's
    raw.unlink()
    return image


def _write_inventory(folder: Path, host: Host, image: Path) -> None:
    folder.mkdir()
    (folder / "cluster.yaml").write_text(
        "cluster_name: bench\ntalos_version: v1.14.1\nkubernetes_version: v1.37.1\n"
        f"network: {{node_cidr: {_SUBNET}.0/24, gateway: {_SUBNET}.1, vip: {_SUBNET}.9}}\n"
        f"proxmox:\n  url: {host.told['url']}\n  fingerprint: '{host.told['fingerprint']}'\n"
        f"  node: pve\n  datastore: local\n  image: {image}\n"
        f"controlplane: {{count: {NODES}, cpu: 1, ram: 2G, disk: 10G}}\n"
    )


# The host


@dataclass(frozen=True, slots=True)
class Host:
    """The simulator, in a process of its own: asked by a line, it answers by a line."""

    process: subprocess.Popen[str]
    told: dict[str, str]

    @property
    def calls(self) -> int:
        return int(self._ask("calls"))

    def made(self) -> Any:
        return self._ask("made")

    def _ask(self, what: str) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextmanager
def _hosting(pace: str) -> Iterator[Host]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.proxmox", pace],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    try:
        assert process.stdout
        yield Host(process, json.loads(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


def serve(pace: Literal["instant", "realistic"]) -> None:
    """Until standard input ends."""
    from tests.simulators.proxmox import Proxmox, serving

    world = Proxmox(pace=pace)
    with serving(world) as server:
        token = "=".join(world.tokens["root"])
        _tell({"url": server.url, "fingerprint": server.fingerprint, "ca": server.ca, "token": token})
        for line in sys.stdin:
            if line.strip() == "calls":
                _tell(len(world.calls))
                continue
            world.settle()  # Terraform does not wait until files are deleted
            with world.mutex:
                machines = {vm.name: _machine(world, vm) for vm in world.vms.values()}
                _tell({"machines": machines, "volumes": sorted(world.volumes)})


def _tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _machine(world: Any, vm: Any) -> dict[str, object]:
    """Of the VM what both tools were told."""
    config: dict[str, Any] = vm.config
    disk = dict(part.partition("=")[::2] for part in str(config["scsi0"]).split(","))
    image, seed = (str(config[drive]).partition(",")[0] for drive in ("scsi0", "ide2"))
    return {
        "vmid": vm.vmid,
        "runs": vm.status == "running",
        "cores": int(config["cores"]),
        "memory": int(config["memory"]),
        "firmware": config["bios"],
        "board": config["machine"],
        "cpu": config["cpu"],
        "starts with the host": bool(config["onboot"]),
        "interface": str(config["net0"]).split(",")[:2],
        "disk": [disk["size"], disk["discard"], disk["ssd"]],
        "image": hashlib.sha256(world.volume_bytes(image)).hexdigest(),
        "seed": hashlib.sha256(world.volume_bytes(seed)).hexdigest(),
    }


if __name__ == "__main__":
    serve("realistic" if sys.argv[1] == "realistic" else "instant")
