"""What an installer image needs to run on a machine, and the version that it brings."""

from __future__ import annotations

from talosmith_lab.machine import Machine
from talosmith_lab.sequences import SequenceFailed
from talosmith_lab.versions import refusal, version_in
from talosmith_lab.world import World

NO_SPACE = "no space left on device"


def pulled_version(world: World, machine: Machine, image: str) -> str:
    """The version in an installer image that could be pulled and that runs here; raises `SequenceFailed`."""
    if world.active("full-disk", machine.name):
        raise SequenceFailed(f"failed to pull image {image!r}: {NO_SPACE}")
    try:
        version = version_in(image)
    except ValueError as error:
        raise SequenceFailed(f"failed to pull image: {error}") from None
    assert machine.run is not None  # noqa: S101 - it is on
    why = refusal(version, machine.run.version)
    if why:
        raise SequenceFailed(f"pre-flight check failed: {why}")
    return version
