"""What talosmith costs before it does anything: `--version` and `--help`, and commands until they ask the first node.

The first question is the first connection that is made; nothing listens there, and the process ends with it.
"""

from __future__ import annotations

import compileall
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import talosmith
from bench.measure import Result, command
from tools.peers import find

LIMIT = 0.40  # seconds of CPU
_INVENTORY = """\
cluster_name: startup
talos_version: v1.14.1
kubernetes_version: v1.37.1
network: {node_cidr: 127.77.0.0/24, gateway: 127.77.0.1, vip: 127.77.0.9}
metal: {}
controlplane:
  nodes:
"""
_NODE = "  - {{name: cp-{0}, ip: 127.77.0.1{0}, disk: /dev/vda, mac_addr: '52:54:00:00:00:0{0}'}}\n"

UNTIL_ASKING = """
import os, sys

def ask(event, arguments):
    if event == "socket.connect" and arguments[1] and not isinstance(arguments[1], (str, bytes)):
        os.write(1, ("\\n".join(["", *sys.modules])).encode() if "MODULES" in os.environ else b"")
        os._exit(0)

sys.addaudithook(ask)
sys.argv[0] = "talosmith"
from talosmith.__main__ import main
main()
"""


def results() -> Iterator[Result]:
    compileall.compile_dir(Path(talosmith.__file__).parent, quiet=1)  # as an installation that is not editable is
    executable = Path(sys.executable).with_name("talosmith")
    peer = command([find("talosctl"), "--help"], runs=10)
    for option in ("--version", "--help"):
        ours = command([executable, option], runs=10)
        figures = f"{ours.cpu * 1000:.0f} ms against {peer.cpu * 1000:.0f} ms of CPU"
        yield Result(f"talosmith {option} / talosctl --help", figures, ours.cpu / peer.cpu, 2.5)
    with tempfile.TemporaryDirectory() as scratch:
        folder, places = write_inventory(Path(scratch))
        for name in ("plan", "status", "up"):
            ours = command([sys.executable, "-c", UNTIL_ASKING, name, "-i", folder], runs=10, environment=places)
            yield Result(
                f"talosmith {name} until the first node is asked: CPU s", "the cheapest of 10", ours.cpu, LIMIT
            )


def write_inventory(scratch: Path) -> tuple[Path, dict[str, str]]:
    """Three machines that do not exist, on loopback, with their secrets; and an environment with no other state."""
    folder = scratch / "inventory"
    folder.mkdir()
    (folder / "cluster.yaml").write_text(_INVENTORY + "".join(map(_NODE.format, (1, 2, 3))))
    places = {f"XDG_{kind}_HOME": str(scratch / kind) for kind in ("STATE", "CONFIG", "CACHE")}
    command([sys.executable, "-m", "talosmith", "secrets", "init", "-i", folder], runs=1, environment=places)
    return folder, places
