"""What the background process does: raise its limits, serve the lab, and end when it is told to."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
from dataclasses import asdict

from talosmith.lab.process import Place
from talosmith.lab.server.lab import LabOptions, LabServer


def serve(name: str) -> None:
    """Until somebody stops it."""
    place = Place(name)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # clients that leave without a word are no news
    with place.held():
        _many_files()
        gc.freeze()  # code stays; only what happens in the lab may become garbage
        asyncio.run(_serve(place))


async def _serve(place: Place) -> None:
    made = place.made()
    options = LabOptions(**asdict(made))
    loop = asyncio.get_running_loop()
    async with LabServer(place.folder, options) as lab:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lab.control.stopping.set)
        place.announce(*lab.address, options.token)
        try:
            await lab.serve()
        finally:
            place.running_file.unlink(missing_ok=True)


def _many_files() -> None:
    """A listening socket for each machine, and the connections: as many as this user may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
