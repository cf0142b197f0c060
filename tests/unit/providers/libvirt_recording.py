"""Every function of libvirt that the provider calls, written down on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.providers.libvirt.calls import function_of
from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.failures import NO_SUPPORT, code_of
from talosmith.providers.libvirt.xml import parse
from tests.unit.providers.libvirt_harness import OWNER, TroubledHost

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
        return function_of(OWNER, kind, name, volume)


def _recorded(found: Any) -> Any:
    library = libvirt()
    things = (library.virDomain, library.virNetwork, library.virStoragePool, library.virStorageVol, library.virStream)
    if isinstance(found, list):
        return [_recorded(one) for one in found]
    return Recorded(found) if isinstance(found, things) else found


class RecordingHost(TroubledHost):
    """The test driver moves no bytes, so an upload is written down here."""

    def _open(self) -> Any:
        return Recorded(super()._open())

    def upload(self, connection: Any, volume: Any, parts: Iterator[bytes], length: int, offset: int = 0) -> None:
        MADE.append(function_of(OWNER, "virStorageVol", "upload", volume.name()))
        super().upload(connection, volume, parts, length, offset)
