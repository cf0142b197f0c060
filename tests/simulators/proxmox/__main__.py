"""`python -m tests.simulators.proxmox`: prints address and tokens as JSON, serves until standard input ends."""

from __future__ import annotations

import argparse
import json
import sys

from . import Proxmox, serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="pve", help="names, with commas between them")
    parser.add_argument("--version", default="9.1.7")
    parser.add_argument("--pace", default="instant", choices=("instant", "recorded", "realistic"))
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    world = Proxmox(given.nodes.split(","), given.version, given.pace)
    with serving(world, port=given.port) as server:
        tokens = {kind: {"id": name, "secret": secret} for kind, (name, secret) in world.tokens.items()}
        told = {"url": server.url, "fingerprint": server.fingerprint, "ca": server.ca, "tokens": tokens}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
