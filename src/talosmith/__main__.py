"""The command `talosmith`."""

from __future__ import annotations

import gc
import os
import sys

_OBJECTS = 50_000  # new ones before the next look for garbage; after Python's 700 it would be looked for all the time


def main() -> None:
    gc.set_threshold(_OBJECTS)
    gc.disable()  # until all is imported, which leaves none: see cli/app.py
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # or it reads the metadata of all that is installed
    from talosmith.cli.streams import guarded

    sys.exit(guarded(_run))


def _run() -> int:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):  # imports nothing else
        from talosmith.cli.version_text import version_text

        sys.stdout.write(version_text() + "\n")
        return 0
    if arguments[:1] == ["__complete"]:  # called by the scripts of `talosmith completion`, at every press of Tab
        from talosmith.cli.complete import print_candidates

        return print_candidates(arguments[1:])
    from talosmith.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    main()
