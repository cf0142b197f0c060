"""`python -m bench [NAME …]`: prints every figure; ends with 1 if one is over its limit."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main(names: list[str]) -> int:
    every = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "measure")
    over = 0
    for name in names or every:
        print(f"\n{name}: {import_module(f'bench.{name}').__doc__}", flush=True)
        for result in import_module(f"bench.{name}").results():
            print(f"  {result}", flush=True)
            over += not result.kept
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
