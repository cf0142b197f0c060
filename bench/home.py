"""The example `homelab` in a lab, with its charts: real ones, and stand-ins where no Go module has them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from talosmith import load
from talosmith.model.cluster import Cluster
from tools.peers.helm_recipes import CHARTS, find_chart

_EXAMPLE = Path(__file__).parents[1] / "examples" / "homelab"
_SECRETS = ("cloudflare.token", "cloudflare.tunnel", "backup.access_key", "backup.secret_key")


@dataclass(frozen=True)
class Home:
    """The folder of an inventory, and an environment with no other state."""

    folder: Path
    environment: dict[str, str]
    standins: tuple[str, ...]  # add-ons whose charts are no real ones

    @property
    def cluster(self) -> Cluster:
        return load(self.folder)

    def run(self, *arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "talosmith", *arguments, "-i", str(self.folder)],
            env=os.environ | self.environment, input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"talosmith {arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout


@contextmanager
def home(scratch: Path) -> Iterator[Home]:
    """Its inventory, secrets and charts.lock; the charts are in the cache. No machine exists yet."""
    from tests.addon_charts import mirrors_block, offer_addons  # which need what only a developer has
    from tests.chart_server import serving
    from tests.loopback import free_network

    folder = scratch / "home"
    shutil.copytree(_EXAMPLE, folder)
    network = free_network().removesuffix("0/24")
    for file in folder.glob("*.yaml"):
        text = file.read_text().replace("192.168.1.", network).replace("metal: {}\n", "lab: {clock: instant}\n")
        file.write_text(re.sub(r"disk: (S4EW\w+|/dev/nvme0n1)", "disk: /dev/vda", text))
    kinds = ("STATE", "CONFIG", "CACHE")
    environment = {f"XDG_{kind}_HOME": str(scratch / kind.lower()) for kind in kinds}
    with serving() as server:
        standins = offer_addons(server, load(folder), _real_charts())
        with (folder / "cluster.yaml").open("a") as inventory:
            inventory.write(mirrors_block(server))
        made = Home(folder, environment, tuple(standins))
        made.run("secrets", "init")
        for name in _SECRETS:
            made.run("secrets", "set", name, given=f"secret of {name}")
        made.run("addons", "pull")
        yield made


@contextmanager
def running(place: Home) -> Iterator[None]:
    """With its machines up in a lab, and all add-ons Ready."""
    try:
        place.run("up", "--yes")
        yield
    finally:
        place.run("destroy", "--yes", "--confirm", place.cluster.name)


def _real_charts() -> dict[str, Path]:
    modules = [module for module in CHARTS if "bitnami" not in module.module]
    return {name: find_chart(module, name) for module in modules for name in module.names}
