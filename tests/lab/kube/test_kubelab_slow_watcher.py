"""A watcher that reads slowly hears of what happened meanwhile, without having to wait for the next change."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab.kube.api import SYSTEM, Api
from talosmith_lab.kube.kinds import find
from talosmith_lab.server.kube.formats import Form
from talosmith_lab.server.kube.streams import WatchStream
from talosmith_lab.server.kube.tabling import Tables

CONFIG_MAP = find("v1", "ConfigMap")


def made(api: Api, name: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    api.create(CONFIG_MAP, obj, "default", how=SYSTEM)


class SlowReader:
    """The first time it has to be waited for, something happens."""

    def __init__(self, api: Api) -> None:
        self.told = b""
        self._api = api
        self._reads = 0

    def start(self, content_type: str) -> None: ...

    def piece(self, data: bytes) -> None:
        self.told += data

    async def read(self) -> None:
        self._reads += 1
        if self._reads == 1:
            made(self._api, "meanwhile")


class NobodyTells(Exception):
    """From here on it would wait for somebody else's change."""


class Silence:
    async def changed(self, cluster: str, seconds: float) -> None:
        raise NobodyTells


async def test_what_happens_while_it_reads_is_told_at_once(api: Api) -> None:
    api = Api(api.kubernetes, "cp-1")  # as its server has it
    made(api, "before")
    watch: Any = api.watch(CONFIG_MAP, "default", initial=True)
    hub: Any = Silence()
    reader: Any = SlowReader(api)
    stream = WatchStream(
        api=api,
        hub=hub,
        kind=CONFIG_MAP,
        watch=watch,
        form=Form(),
        tables=Tables(api.kubernetes),
        bookmarks=False,
        initial_end=False,
        seconds=600,
    )
    with pytest.raises(NobodyTells):
        await stream.run(reader)
    assert reader.told.count(b'"type":"ADDED"') >= 2
    assert b'"meanwhile"' in reader.told
