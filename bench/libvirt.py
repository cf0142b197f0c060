"""Three machines on a real libvirtd, next to Terraform's libvirt provider: created, found unchanged, deleted.

Both talk to the same daemon, in turns, by a socket that counts their calls. Ours is what `up` and `destroy` do about
machines, from the inventory to the end of the run, with the look at the host before it; Talos, of which Terraform
knows nothing, is not asked. Terraform gets the rendered seeds as files. The best of several turns counts: other work
on the machine only ever adds. Terraform is OpenTofu here, with the same provider.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.machine_part import MACHINE_PART
from bench.measure import Cost, Result, command
from bench.rpc import counting
from bench.same_machines import NODES, PROVIDER, Place, made, write_image, write_inventory, write_resources
from tools.peers import PeerUnavailable, build, built, find
from tools.peers.bench_recipes import TOFU, TOFU_LIBVIRT
from tools.peers.libvirt_recipes import prepare

TURNS = 3
ACTIONS = {"up": "created", "again": "unchanged", "destroy": "deleted"}
START = "start"  # of ours: until the host is asked for the first time
OURS, THEIRS = "ours", "theirs"
LIMIT = 1.0  # times what Terraform takes
_LIMIT = 60  # seconds in which a run is over, or hangs


@dataclass(frozen=True, slots=True)
class Took:
    seconds: float
    cpu: float
    calls: int


@dataclass(frozen=True, slots=True)
class Peer:
    tofu: Path
    provider: Path


class PeerFailed(Exception):
    """Now and then it waits for ever for a seed that it reads back, or finds it empty; without the counting, too."""


Tool = Callable[[str], Cost]  # does one of the actions
Turn = dict[tuple[str, str], Took]  # by tool and action


def results() -> Iterator[Result]:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise PeerUnavailable("a libvirtd of the bench's own needs root on Linux")
    prepare()
    for recipe in (TOFU, TOFU_LIBVIRT):
        if not built(recipe):
            print(f"  {recipe.name} {recipe.version}: building, once; it takes minutes", flush=True)
            build(recipe)
    peer = Peer(find("tofu"), find("terraform-provider-libvirt"))
    turns: list[Turn] = []
    failures: list[str] = []
    while len(turns) < TURNS and len(failures) < TURNS:
        try:
            turns.append(_turn(peer, ours_first=len(turns) % 2 == 0))
        except PeerFailed as problem:
            failures.append(str(problem))
    if not turns:
        raise PeerUnavailable(f"no run of OpenTofu came to its end: {failures}")
    yield from _compared(turns)
    told = f"of {len(turns) + len(failures)}, and not counted above {failures or ''}"
    yield Result("turns in which OpenTofu failed or hung", told, len(failures), TURNS - 1)


def _turn(peer: Peer, *, ours_first: bool) -> Turn:
    """On a daemon of its own: one after the other, each from nothing to nothing."""
    from talosmith.providers.libvirt.connection import libvirt
    from tests.real.libvirt.daemon import running_daemon  # which needs what only a developer has

    taken: Turn = {}
    seen = []
    with tempfile.TemporaryDirectory(prefix="lvb-") as scratch, running_daemon() as daemon:
        folder = Path(scratch)
        socket, pool = folder / "socket", Path(f"{daemon.pool_path}-bench")
        place = Place(f"qemu+unix:///system?socket={socket}", pool, daemon.network, write_image(folder))
        connection = libvirt().open(daemon.uri)
        with counting(daemon.socket, socket) as counted:
            tools = _tools(folder, place, peer)
            started = tools[OURS](START)
            taken[OURS, START] = Took(started.seconds, started.cpu, counted.calls)
            for name in tools if ours_first else reversed(tools):
                for action in ACTIONS:
                    before = counted.calls
                    cost = tools[name](action)
                    taken[name, action] = Took(cost.seconds, cost.cpu, counted.calls - before)
                    if action == "up":
                        seen.append(made(connection))
                assert not connection.listAllDomains() and not pool.exists(), f"{name} left something behind"
        connection.close()
    assert len(seen[0]) == NODES and seen[0] == seen[1], f"these are not the same machines: {seen}"
    return taken


def _compared(turns: list[Turn]) -> Iterator[Result]:
    def best(name: str, action: str, of: str) -> float:
        return min(float(getattr(turn[name, action], of)) for turn in turns)

    for action, told in ACTIONS.items():
        for of, shown in (("seconds", ".2f"), ("cpu", ".2f"), ("calls", ".0f")):
            ours, theirs = best(OURS, action, of), best(THEIRS, action, of)
            figures = f"{ours:{shown}} against {theirs:{shown}}"
            if start := best(OURS, START, of):
                figures += f"; {start:{shown}} of ours before the host is asked"
            yield Result(f"{NODES} machines {told}, {of}: ours / OpenTofu's", figures, ours / theirs, LIMIT)


# The tools


def _tools(folder: Path, place: Place, peer: Peer) -> dict[str, Tool]:
    inventory, seeds, resources = folder / "inventory", folder / "seeds", folder / "resources"
    home = {"HOME": str(folder)} | {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("STATE", "CACHE", "CONFIG")}
    write_inventory(inventory, place)
    for asked in (["secrets", "init"], ["render", "nocloud", "--out", str(seeds)]):
        command([sys.executable, "-m", "talosmith", *asked, "-i", inventory], runs=1, environment=home)
    write_resources(resources, place, inventory, seeds)
    environment = home | {"TF_CLI_CONFIG_FILE": str(_settings(resources, peer)), "TF_IN_AUTOMATION": "1"}

    def there(*words: str | Path) -> Cost:
        """In the host's network, and not for ever."""
        limited = ["timeout", "--signal=KILL", str(_LIMIT), "nsenter", f"--net={place.network}", *words]
        return command(limited, runs=1, environment=environment)

    def ours(action: str) -> Cost:
        return there(sys.executable, "-c", MACHINE_PART, inventory, action)

    def tofu(*words: str) -> Cost:
        return there(peer.tofu, f"-chdir={resources}", *words, "-no-color", "-input=false")

    def theirs(action: str) -> Cost:
        try:
            cost = tofu("destroy" if action == "destroy" else "apply", "-auto-approve")
        except RuntimeError as problem:
            raise PeerFailed(f"{action}: {str(problem)[-300:]}") from None
        assert action != "again" or "No changes." in cost.said, cost.said
        return cost

    tofu("init")
    return {OURS: ours, THEIRS: theirs}


def _settings(folder: Path, peer: Peer) -> Path:
    """The provider is taken from a folder, not from a registry."""
    source, version = PROVIDER
    mirror, settings = folder / "mirror", folder / "tofurc"
    installed = mirror / "registry.opentofu.org" / source / version / "linux_amd64"
    installed.mkdir(parents=True)
    (installed / f"{peer.provider.name}_v{version}").symlink_to(peer.provider)
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
    return settings
