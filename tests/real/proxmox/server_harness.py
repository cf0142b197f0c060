"""The provider in front of a Proxmox VE that is known by its API alone, as a real one is.

Nothing can go wrong there on request, so things go wrong on the way: the client of the provider counts its calls,
loses answers and hides VMs from the list. All VMs have VMIDs of one range and one tag; only those with both are
deleted.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.desired.outputs import seed_iso
from talosmith.model.cluster import Role
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, MachineSpec, Owner
from talosmith.model.providers import Proxmox as Section
from talosmith.model.secret import Secret
from talosmith.providers.proxmox import ProxmoxProvider
from talosmith.providers.proxmox.client import ProxmoxClient, Token, path
from talosmith.providers.proxmox.failures import Gone, Interrupted
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from talosmith.providers.proxmox.tasks import follow
from talosmith.providers.proxmox.trust import Trust
from tests.machine_specs import machine_spec
from tests.provider_contract import There
from tests.waiting import PATIENCE

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # each has a cluster of its own on the server
OWNER = Owner("contract", f"7a10500000c0ff{_WORKER:02x}")
VMIDS = range(987_650_000 + _WORKER * 100, 987_650_100 + _WORKER * 100)
MARK = "talosmith-contract"
_WORDS = {CLUSTER_TAG: "cluster", ID_TAG: "id", NODE_TAG: "node", ROLE_TAG: "role"}
_OFTEN = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Given:
    """A Proxmox VE, and what may be used of it."""

    url: str
    token: str  # user@realm!name=secret
    fingerprint: str  # of its certificate, SHA-256
    node: str
    datastore: str
    iso: str  # volume of an ISO that machines boot; seeds are put beside it

    @classmethod
    def by_environment(cls) -> Given | None:
        """None if nothing is said of one."""
        values = {name: os.environ.get(f"TALOSMITH_PROXMOX_{name.upper()}", "") for name in cls.__slots__}
        missing = [f"TALOSMITH_PROXMOX_{name.upper()}" for name, value in values.items() if not value]
        assert not missing or len(missing) == len(values), f"not set: {', '.join(missing)}"
        return None if missing else cls(**values)


@dataclass
class Way:
    """Between the providers of a test and the server."""

    calls: int = 0
    answers_to_lose: dict[str, int] = field(default_factory=dict)  # by method
    failing: float = 0.0  # percent of calls
    hiding: float = 0.0  # seconds for which new VMs are not listed
    ahead: float = 0.0  # of the clock on the wall
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    _listed_from: dict[int, float] = field(default_factory=dict)

    def fails(self) -> bool:
        return self.chance.random() * 100 < self.failing

    def loses(self, method: str, where: str) -> bool:
        """Of calls that make or take away a machine."""
        parts = where.strip("/").split("/")
        if (method, len(parts)) not in (("POST", 3), ("DELETE", 4)) or parts[2] != "qemu":
            return False
        left = self.answers_to_lose.get(method, 0)
        self.answers_to_lose[method] = max(0, left - 1)
        return left > 0

    def made(self, vmid: int) -> None:
        if self.hiding:
            self._listed_from[vmid] = self._now() + self.hiding

    def shows(self, vmid: int) -> bool:
        return self._now() >= self._listed_from.get(vmid, 0.0)

    def _now(self) -> float:
        return time.monotonic() + self.ahead


class _Client(ProxmoxClient):
    def __init__(self, given: Given, way: Way | None = None) -> None:
        name, _, secret = given.token.rpartition("=")
        super().__init__(given.url, Token(name, Secret(secret)), Trust(given.fingerprint.replace(":", "").lower()))
        self._way = way or Way()

    async def _call(self, method: str, where: str, params: Mapping[str, Any], **more: Any) -> Any:
        self._way.calls += 1
        if self._way.fails():
            raise Interrupted(f"{method} {where}: not sent", hint="by chance")
        answer = await super()._call(method, where, params, **more)
        if method == "POST" and "vmid" in params:
            self._way.made(int(params["vmid"]))
        if self._way.loses(method, where):
            raise Interrupted(f"{method} {where}: the answer is lost", hint="as the test wants it")
        if where == "/cluster/resources":
            return [one for one in answer if self._way.shows(int(one.get("vmid") or 0))]
        return answer


def spec_of(name: str, role: Role) -> MachineSpec:
    """Small: real machines take real memory."""
    offset = int(name.rpartition("-")[2]) + (0 if role == "controlplane" else 50)
    mac = f"52:54:00:c3:{_WORKER:02x}:{offset:02x}"
    sizes: dict[str, Any] = {"cpu": 1, "ram_mib": 512, "disks_mib": (1024, 512)}
    return machine_spec(name, role, f"127.99.98.{offset}", mac=mac, vmid=VMIDS[offset], **sizes)


class ServerHarness:
    def __init__(self, given: Given, folder: Path) -> None:
        self.owner = OWNER
        self._given, self._folder = given, folder
        self._way = Way()
        self._client = _Client(given)
        controlplane = spec_of("cp-1", "controlplane")
        self._specs = {"cp-1": controlplane} | {f"w-{n}": spec_of(f"w-{n}", "worker") for n in range(1, 31)}

    def provider(self) -> ProxmoxProvider:
        return ProxmoxProvider(self.owner, _Client(self._given, self._way), self._settings())

    def _settings(self) -> ProxmoxSettings:
        given = self._given
        section = Section(
            seed=not self._way.hiding,
            node=given.node, datastore=given.datastore, iso=given.iso, iso_storage=given.iso.partition(":")[0],
            autostart=False, tags=[MARK],
        )  # fmt: skip
        return ProxmoxSettings(
            section=section,
            specs=self._specs,
            seed=lambda spec, config: seed_iso(spec.name, config, []),
            boot=lambda spec: Boot("iso", volume=given.iso),
            cache=self._folder,
            patience=2.0,  # what boots from any ISO may not hear that it shall shut down
            vmids={spec.node.vmid or 0: name for name, spec in self._specs.items()},
        )

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        return self._specs[name]

    async def there(self) -> list[There]:
        """When what was begun is done. Of a real server only what is in the range: it may have other VMs."""
        await self._settled()
        found = []
        for vmid in await self._vmids():
            config = await self._client.get(path("nodes", self._given.node, "qemu", vmid, "config"))
            status = await self._client.get(path("nodes", self._given.node, "qemu", vmid, "status", "current"))
            tags = _tags(str(config.get("description", "")))
            name = tags.get(NODE_TAG) or str(config["name"])
            found.append(There(_id(vmid, config), name, tags, "on" if status["status"] == "running" else "off"))
        return found

    async def _vmids(self) -> list[int]:
        rows = await self._client.get("/cluster/resources", type="vm")
        return sorted(int(one["vmid"]) for one in rows if int(one["vmid"]) in VMIDS)

    async def _settled(self) -> None:
        end = time.monotonic() + PATIENCE
        where = path("nodes", self._given.node, "tasks")
        while busy := [one for one in await self._client.get(where, source="active") if _of_range(one)]:
            assert time.monotonic() < end, busy
            await asyncio.sleep(_OFTEN)

    def calls(self) -> int:
        return self._way.calls

    async def lose_answers(self, times: int) -> None:
        self._way.answers_to_lose = {"POST": times, "DELETE": times}

    async def fail_some(self, percent: float) -> None:
        self._way.failing = percent

    async def hide_new(self, seconds: float) -> None:
        """VMs without a seed: with one, a VM is found by its seed."""
        self._way.hiding = seconds

    async def pass_time(self, seconds: float) -> None:
        self._way.ahead += seconds

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        vmid = self.spec(name).node.vmid or 0
        words = " ".join(f"{_WORDS[tag]}={value}" for tag, value in tags.items())
        description = f"talosmith machine {words} vmid={vmid}\n" if tags else "somebody else's"
        marks = [MARK, *(["talosmith"] if tags else []), *([f"talosmith-{tags[ID_TAG]}"] if ID_TAG in tags else [])]
        upid = await self._client.post(
            path("nodes", self._given.node, "qemu"),
            vmid=vmid,
            name=name,
            memory=64,
            tags=";".join(marks),
            description=description,
        )
        await follow(self._client, upid, f"create VM {vmid}")
        return _id(vmid, await self._client.get(path("nodes", self._given.node, "qemu", vmid, "config")))

    # Afterwards, and before, if a test was killed

    async def clear(self) -> None:
        await self._settled()
        for vmid in await self._vmids():
            await self._delete(vmid)
        for volume in await self.seeds():
            await follow(self._client, await self._client.delete(f"{self._isos}{path(volume)}"), f"delete {volume}")

    @property
    def _isos(self) -> str:
        return path("nodes", self._given.node, "storage", self._given.iso.partition(":")[0], "content")

    async def seeds(self) -> list[str]:
        found = [str(one["volid"]) for one in await self._client.get(self._isos, content="iso")]
        return [volume for volume in found if f"/talosmith-{OWNER.id}-" in volume]

    async def _delete(self, vmid: int) -> None:
        where = path("nodes", self._given.node, "qemu", vmid)
        try:
            config = await self._client.get(f"{where}/config")
        except Gone:
            return
        assert MARK in str(config.get("tags", "")).split(";"), f"VM {vmid} is not of these tests; VMIDs {VMIDS} are"
        await follow(self._client, await self._client.post(f"{where}/status/stop"), f"stop VM {vmid}")
        await follow(self._client, await self._client.delete(where, purge=1), f"delete VM {vmid}")

    async def close(self) -> None:
        await self._client.close()


def _tags(description: str) -> dict[str, str]:
    for line in description.splitlines():
        if line.startswith("talosmith machine "):
            words = dict(word.partition("=")[::2] for word in line.split())
            return {tag: words[word] for tag, word in _WORDS.items() if word in words}
    return {}


def _id(vmid: int, config: Mapping[str, Any]) -> str:
    return f"{vmid}/{str(config.get('smbios1', '')).partition('uuid=')[2].partition(',')[0]}"


def _of_range(task: Mapping[str, Any]) -> bool:
    number = str(task.get("id") or "")
    return number.isdigit() and int(number) in VMIDS
