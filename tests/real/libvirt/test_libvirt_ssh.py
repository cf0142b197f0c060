"""A host far away, by ssh: the same machines, with every byte through libvirt's own connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.providers.libvirt.connection import Host
from talosmith.providers.libvirt.provider import LibvirtProvider
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.places import CONFIG, OWNER, Place
from tests.real.libvirt.ssh_host import ssh_host
from tests.resource_contract import create_all, delete_all


async def test_a_machine_is_made_over_ssh(daemon: Daemon, subnet: str, halting_image: Path, tmp_path: Path) -> None:
    place = Place(daemon, subnet, halting_image, tmp_path / "cache")
    with ssh_host(daemon, tmp_path) as host:
        provider = LibvirtProvider(OWNER, Host(host.uri), place.settings)
        await create_all(provider)
        machine = await provider.create(place.spec(), CONFIG)
        assert [one.id for one in await place.provider.find()] == [machine.id]
        (seed,) = place.seeds()
        assert CONFIG.reveal().encode() in Path(place.section.pool_path or "", seed).read_bytes()
        assert isinstance(await provider.console(machine), str)
        await provider.destroy(machine)
        await delete_all(provider, OWNER)
        await provider.close()
    assert not place.files


async def test_a_key_that_the_host_does_not_take(daemon: Daemon, subnet: str, tmp_path: Path) -> None:
    with ssh_host(daemon, tmp_path, trusted=False) as host:
        with pytest.raises(Permanent, match="Permission denied") as refused:
            await Host(host.uri).do("look", lambda connection: connection.getHostname())
        assert "ssh key" in refused.value.hint
