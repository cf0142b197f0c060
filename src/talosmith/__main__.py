"""The command `talosmith`."""

from __future__ import annotations

import gc
import os
import sys

_OBJECTS = 50_000  # new ones before the next look for garbage; Python's 700 looks hundreds of times while it imports


def main() -> None:
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # or it reads the metadata of all that is installed
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
