"""What the background process does: raise its limits, serve the lab, and end when it is told to."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
from dataclasses import asdict

from talosmith.providers.lab.process import Place
from talosmith_lab.server.lab import LabOptions, LabServer

_LOOKS = 5.0  # seconds between looks whether the lab can still be found
_OBJECTS = 50_000  # new ones before the next look for garbage, of which requests leave little


def serve(name: str) -> None:
    """Until it is stopped."""
    place = Place(name)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # clients that leave without a word are no news
    with place.held():
        place.running_file.unlink(missing_ok=True)  # of one that was killed
        _many_files()
        gc.freeze()  # code stays; only what happens in the lab may become garbage
        gc.set_threshold(_OBJECTS)
        asyncio.run(_serve(place))


async def _serve(place: Place) -> None:
    made = place.made()
    options = LabOptions(**asdict(made))
    loop = asyncio.get_running_loop()
    async with LabServer(place.folder, options) as lab:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lab.control.stopping.set)
        place.announce(*lab.address, options.token)
        watching = asyncio.create_task(_until_forgotten(place, lab.control.stopping))
        try:
            await lab.serve()
        finally:
            watching.cancel()
            place.running_file.unlink(missing_ok=True)


async def _until_forgotten(place: Place, stopping: asyncio.Event) -> None:
    """Deleting its folder by hand removes the only way to it: nothing could ever stop it."""
    while place.running_file.exists():
        await asyncio.sleep(_LOOKS)
    stopping.set()


def _many_files() -> None:
    """A listening socket for each machine, and the connections: as many as this user may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
