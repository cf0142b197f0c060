"""The lab as one process: it comes back as it was, has its own ports and addresses, and a way in with a token."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from talosmith.talos.proto import cosi_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_clients import DEADLINE, Client, insecure, with_roles
from tests.lab.lab_servers import at_rest, cluster, settled, waits
from tests.lab.lab_worlds import Configs


async def test_killed_and_started_again_it_is_the_same_lab(tmp_path: Path, network: str, configs: Configs) -> None:
    options = LabOptions(clock="instant", network=network)
    async with LabServer(tmp_path, options) as lab:
        await cluster(lab, configs, "cp-1", "cp-2", "cp-3")
        lab.control.create("w-1")
        await settled(lab, lambda: at_rest(lab) and waits(lab, "w-1"))
        before = lab.control.list_machines()
        members = lab.control.status()["etcd"]
    async with LabServer(tmp_path, options) as lab:
        assert lab.control.list_machines() == before, "the same, down to the fingerprint of maintenance mode"
        assert lab.control.status()["etcd"] == members
        async with Client(lab.world.machines["cp-2"].address, with_roles(configs.bundle.os)) as node:
            listed = await node.machine.EtcdMemberList(pb.EtcdMemberListRequest(), timeout=DEADLINE)
            assert len(listed.messages[0].members) == 3
        lab.control.reboot(["w-1"])
        await settled(lab, lambda: waits(lab, "w-1"))
        fingerprints = [one["fingerprint"] for one in (*before, *lab.control.list_machines()) if one["name"] == "w-1"]
        assert fingerprints[0] != fingerprints[1], "another boot, another key"


async def at_a_port(lab: LabServer, name: str) -> int:
    """Where the machine answers. A port that is free may be somebody else's by the time the machine has booted."""
    while True:
        made = lab.control.create(name)
        await settled(lab, lambda: waits(lab, name))
        if not lab.control.list_machines(name)[0]["problem"]:
            return int(made["port"])
        lab.control.delete([name])


async def test_machines_by_port_where_there_is_one_address(tmp_path: Path, configs: Configs) -> None:
    async with LabServer(tmp_path, LabOptions(clock="instant", ports=True)) as lab:
        ports = [await at_a_port(lab, name) for name in "ab"]
        assert len(set(ports)) == 2
        for name, port in zip("ab", ports, strict=True):
            async with Client("127.0.0.1", insecure(), port) as node:
                uuid = cosi_pb2.GetRequest(
                    namespace="hardware", type="SystemInformations.hardware.talos.dev", id="systeminformation"
                )
                spec = (await node.state.Get(uuid, timeout=DEADLINE)).resource.spec.yaml_spec
                assert f"serialnumber: {name}\n" in spec


async def test_a_machine_whose_address_somebody_else_has_says_so(server: LabServer) -> None:
    with socket.socket() as other:
        other.bind((str(server.world.subnet[11]), 50000))
        other.listen()
        server.control.create("a")
        await settled(server, lambda: waits(server, "a"))
        assert "already in use" in server.control.list_machines("a")[0]["problem"]
    server.control.reboot(["a"])
    await settled(server, lambda: waits(server, "a"))
    assert server.control.list_machines("a")[0]["problem"] == ""


async def ask(server: LabServer, line: bytes) -> dict[str, Any]:
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(line)
    answer = await asyncio.wait_for(reader.read(), DEADLINE)
    writer.close()
    return json.loads(answer) if answer else {}


async def test_the_way_in_needs_the_token(server: LabServer) -> None:
    assert server.address[0] == "127.0.0.1"
    for wrong in ("", "let-me-ix", "let-me-in "):
        answer = await ask(server, json.dumps({"token": wrong, "call": "stop"}).encode() + b"\n")
        assert answer["error"] == "the token is wrong"
    assert not server.control.stopping.is_set()
    good = json.dumps({"token": "let-me-in", "call": "status"}).encode() + b"\n"
    assert (await ask(server, good))["done"]["machines"] == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"nonsense\n",
        b"[]\n",
        b'{"token": "let-me-in"}\n',
        b'{"token": "let-me-in", "call": "machine.create", "with": {"nonsense": 1}}\n',
        b'{"token": "let-me-in", "call": "machine.create", "with": {"name": "../x"}}\n',
        b'{"token": "let-me-in", "call": "fault.add", "with": {"kind": "nonsense"}}\n',
        b'{"token": "let-me-in", "call": "machine.delete", "with": {"names": ["nobody"]}}\n',
    ],
)
async def test_a_wrong_request_is_answered_with_an_error(server: LabServer, line: bytes) -> None:
    assert (await ask(server, line)).get("error")
    assert server.world.machines == {} and server.world.faults == {}


async def test_a_request_without_end_is_not_kept(server: LabServer) -> None:
    reader, writer = await asyncio.open_connection(*server.address)
    with pytest.raises((ConnectionError, AssertionError)):
        for _ in range(200):
            writer.write(b"x" * 65_536)
            await writer.drain()
        assert await asyncio.wait_for(reader.read(), DEADLINE) != b""
    writer.close()
