"""Every function of libvirt that the provider calls, written down on the way, and held against what steps show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.model.resources import Resource, ResourceKey
from talosmith.plan.step import Action
from talosmith.providers.base import Known, capabilities
from talosmith.providers.libvirt.calls import CHANGING, READING, function_of
from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.failures import NO_SUPPORT, code_of
from talosmith.providers.libvirt.xml import parse
from talosmith.steps.machines import CreateMachine, DestroyMachine, ForgetSeed, PowerOn, ResizeMachine
from talosmith.steps.resources import CreateResource, DeleteResource, UpdateResource
from tests.machine_specs import with_settings
from tests.unit.providers.libvirt_harness import LibvirtHarness, TroubledHost

_NOT_IN_TEST_DRIVER = ("updateDeviceFlags", "blockResize", "resize")  # asked for is all that can be seen of them
MADE: list[str] = []  # as `calls.function_of` names them; all hosts of a test write here


class Recorded:
    """An object of libvirt, as far as the provider can tell."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not callable(found):
            return found

        def call(*arguments: Any) -> Any:
            MADE.append(self._function(name, arguments))
            try:
                return _recorded(found(*(one._thing if isinstance(one, Recorded) else one for one in arguments)))
            except libvirt().libvirtError as error:
                if name in _NOT_IN_TEST_DRIVER and code_of(error) == NO_SUPPORT:
                    return 0
                raise

        return call

    def _function(self, name: str, arguments: tuple[Any, ...]) -> str:
        kind, volume = type(self._thing).__name__, ""
        if kind == "virStorageVol":
            volume = self._thing.name()
        elif (kind, name) == ("virStoragePool", "createXML"):
            volume = parse(arguments[0]).findtext("name", "")
        return function_of(kind, name, volume)


def _recorded(found: Any) -> Any:
    library = libvirt()
    things = (library.virDomain, library.virNetwork, library.virStoragePool, library.virStorageVol)
    if isinstance(found, list):
        return [_recorded(one) for one in found]
    return Recorded(found) if isinstance(found, things) else found


class RecordingHost(TroubledHost):
    """The test driver moves no bytes, so an upload is written down here."""

    def _open(self) -> Any:
        return Recorded(super()._open())

    def upload(self, connection: Any, volume: Any, parts: Iterator[bytes], length: int, offset: int = 0) -> None:
        MADE.append(function_of("virStorageVol", "upload", volume.name()))
        super().upload(connection, volume, parts, length, offset)


def made_as_shown(action: Action) -> set[str]:
    """The calls behind the functions that were called since the last time; each is one that the step shows."""
    functions = set(MADE)
    MADE.clear()
    assert not functions - CHANGING.keys() - READING, "functions of libvirt that stand in no table"
    shown = set(action.calls())
    hidden = {one: CHANGING[one] for one in functions & CHANGING.keys() if not shown & set(CHANGING[one])}
    assert not hidden, f"{action.key} shows {shown}"
    return {call for one in functions & CHANGING.keys() for call in shown & set(CHANGING[one])}


async def whole_life_is_as_shown(harness: LibvirtHarness) -> None:
    """Two machines and what they stand on, from the first thing on the host to the last."""
    provider, worker = harness.provider(), harness.spec("w-1")
    host = capabilities(provider)
    MADE.clear()
    made: dict[ResourceKey, Resource] = {}
    for spec in provider.resources():
        known, kind = Known(resources=made, machines={}), spec.kind
        made[spec.key] = await provider.create_resource(spec, known)
        assert made_as_shown(CreateResource(spec.key)) == {f"resource:{kind}:create"}
        await provider.create_resource(spec, known)
        assert made_as_shown(CreateResource(spec.key)) <= ({f"resource:{kind}:create"} if kind == "image" else set())
    assert [key.kind for key in made] == ["network", "pool", "image"]

    create = CreateMachine("cp-1", host.calls("create"))
    first = await provider.create(harness.spec("cp-1", "controlplane"))
    assert made_as_shown(create) == {"machine:create"}
    machine = await provider.create(worker)
    assert made_as_shown(CreateMachine("w-1", host.calls("create"))) == {"machine:create"}
    assert (await provider.create(worker)).id == machine.id
    assert made_as_shown(CreateMachine("w-1", host.calls("create"))) == set()

    await provider.power(machine, False)
    await provider.power(machine, True)
    assert made_as_shown(PowerOn("w-1")) == {"machine:power"}
    assert await provider.forget_seed(machine)
    assert made_as_shown(ForgetSeed("w-1", host.calls("forget-seed"))) == {"machine:forget-seed"}

    network = next(spec for spec in provider.resources() if spec.kind == "network")
    harness.connection.networkLookupByName(network.name).destroy()
    (found,) = [one for one in await provider.find_resources() if one.key == network.key]
    await provider.update_resource(found, network, Known(resources=made, machines={}))
    assert made_as_shown(UpdateResource(network.key)) == {"resource:network:update"}

    size, other = worker.disks_mib
    grown = with_settings(worker, cpu=2, disks_mib=(size, 2 * other, other))
    await provider.resize(machine, grown)
    resized = made_as_shown(ResizeMachine("w-1", host_calls=host.calls("resize")))
    assert resized == {"machine:resize", "machine:power"}

    for one in (machine, first):
        await provider.destroy(one)
        assert made_as_shown(DestroyMachine(one.name, host.calls("destroy"))) == {"machine:destroy"}
    for key in reversed(made):
        await provider.delete_resource(made[key])
        assert made_as_shown(DeleteResource(key)) == {f"resource:{key.kind}:delete"}
