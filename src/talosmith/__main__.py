"""The command `talosmith`."""

from __future__ import annotations

import sys


def main() -> None:
    from talosmith.cli.streams import guarded

    sys.exit(guarded(_run))


def _run() -> int:
    if sys.argv[1:] in (["--version"], ["-V"]):  # needs nothing else of ours
        from talosmith import __version__

        sys.stdout.write(f"talosmith {__version__}\n")
        return 0
    from talosmith.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
