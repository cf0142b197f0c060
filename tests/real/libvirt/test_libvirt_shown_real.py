"""Promise 56 on a real libvirtd: QEMU's driver has functions that the test driver has not."""

from __future__ import annotations

from pathlib import Path

from talosmith.model.providers import Libvirt
from talosmith.providers.libvirt.networks import Network
from tests.real.libvirt.daemon import Daemon
from tests.unit.providers.libvirt_harness import OWNER, LibvirtHarness
from tests.unit.providers.libvirt_recording import RecordingHost, whole_life_is_as_shown


async def test_every_change_of_a_real_host_is_shown(daemon: Daemon, halting_image: Path, subnet: str) -> None:
    name, network = f"net-{subnet}", Network(f"net-{subnet}", OWNER, "isolated", f"{subnet}.1", 24)
    section = Libvirt(uri=daemon.uri, pool="shown", pool_path=daemon.pool_path, network=name, autostart=True)
    await whole_life_is_as_shown(
        LibvirtHarness(
            halting_image,
            section,
            subnet=subnet,
            disks_mib=(2, 1),
            ram_mib=32,
            network=network,
            patience=0.0,
            hosts=RecordingHost,
        )
    )
