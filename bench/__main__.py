"""`python -m bench [NAME …]`: prints every figure; ends with 1 if one is over its limit, or cannot be had here."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from tools.peers import PeerUnavailable

# But what benches are made of.
_NO_BENCHES = ("aws_cloud", "aws_made", "aws_nodes", "home", "machine_part", "measure", "rpc", "same_machines")


def main(names: list[str]) -> int:
    every = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem not in _NO_BENCHES)
    over = 0
    for name in names or every:
        print(f"\n{name}: {import_module(f'bench.{name}').__doc__}", flush=True)
        try:
            for result in import_module(f"bench.{name}").results():
                print(f"  {result}", flush=True)
                over += not result.kept
        except PeerUnavailable as problem:
            print(f"  left out: {problem}", flush=True)
            over += 1
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
