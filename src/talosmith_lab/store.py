"""The world on disk: whatever has changed is written in one transaction, so that a killed lab finds itself again.

SQLite in WAL mode: a process that is killed at any moment leaves the last transaction whole or not at all. Records
(logs and events) are only here, not in memory.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from talosmith.errors import Permanent
from talosmith.providers.lab.process import PaceName
from talosmith_lab.clock import Now
from talosmith_lab.etcd import Cluster, Member, View
from talosmith_lab.faults import Fault
from talosmith_lab.kv import Entry, KeyValues
from talosmith_lab.machine import Machine
from talosmith_lab.records import Record
from talosmith_lab.world import World

FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS machine (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fault (id TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS text (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blob (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cluster (uid TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (owner TEXT, key TEXT, value BLOB NOT NULL, created INT, modified INT, version INT,
    PRIMARY KEY (owner, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record (number INTEGER PRIMARY KEY, machine TEXT, boot INT, source TEXT, at REAL,
    text TEXT, id TEXT, actor TEXT, kind TEXT, payload TEXT);
CREATE INDEX IF NOT EXISTS record_of ON record (machine, source, number);
"""
_NEW_RECORD = (
    "INSERT INTO record (machine, boot, source, at, text, id, actor, kind, payload) VALUES (?,?,?,?,?,?,?,?,?)"
)
_MACHINE = TypeAdapter(Machine)
_FAULT = TypeAdapter(Fault)
_MEMBERS = TypeAdapter(dict[int, Member])

Connect = Callable[[str], sqlite3.Connection]


class Store:
    def __init__(self, path: Path, connect: Connect = sqlite3.connect) -> None:
        self.path = path
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))  # configs hold secrets
        self._db = connect(str(path))
        self._db.isolation_level = None
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")  # it outlives its process, not a loss of power
        self._db.executescript(_SCHEMA)
        self._texts: set[str] = set()
        self._blobs: set[str] = set()
        self._boots: dict[str, int] = {}
        self._faults: dict[str, bytes] = {}
        self._facts: dict[str, str] = {}

    def close(self) -> None:
        self._db.close()

    # The world

    def exists(self) -> bool:
        return self._db.execute("SELECT 1 FROM fact WHERE name = 'format'").fetchone() is not None

    def load(self, now: Now) -> World:
        """The world as it was last saved."""
        facts = {name: json.loads(value) for name, value in self._db.execute("SELECT name, value FROM fact")}
        if facts.get("format") != FORMAT:
            raise Permanent(
                f"{self.path} was written by another version of talosmith (format {facts.get('format')})",
                hint="delete the lab and start it again",
            )
        world = World(seed=facts["seed"], pace=facts["pace"], now=now, subnet=facts["subnet"])
        world.counter, world.vip_holders, world.api_up = facts["counter"], facts["vip_holders"], facts["api_up"]
        for name, data in self._db.execute("SELECT name, data FROM machine"):
            world.machines[name] = _MACHINE.validate_json(data)
        for identity, data in self._db.execute("SELECT id, data FROM fault"):
            world.faults[identity] = _FAULT.validate_json(data)
        world.texts = dict(self._db.execute("SELECT digest, text FROM text").fetchall())
        world.blobs = dict(self._db.execute("SELECT digest, data FROM blob").fetchall())
        for uid, data in self._db.execute("SELECT uid, data FROM cluster"):
            world.clusters[uid] = self._cluster(uid, json.loads(data))
        self._texts, self._blobs = set(world.texts), set(world.blobs)
        self._boots = {machine.name: machine.boots for machine in world.machines.values()}
        return world

    def save(self, world: World) -> None:
        """Everything that has changed since the last time, or nothing."""
        self._db.execute("BEGIN")
        try:
            self._save_facts(world)
            for name in world.changed:
                self._save_machine(name, world.machines.get(name))
            for uid in world.changed_clusters:
                self._save_cluster(uid, world.clusters.get(uid))
            self._save_faults(world)
            self._save_content(world)
            self._db.executemany(_NEW_RECORD, [_row(record) for record in world.records])
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        world.changed.clear()
        world.changed_clusters.clear()
        world.records.clear()

    def _save_facts(self, world: World) -> None:
        facts: dict[str, Any] = {
            "format": FORMAT,
            "seed": world.seed,
            "pace": world.pace.name,
            "subnet": str(world.subnet),
            "counter": world.counter,
            "vip_holders": world.vip_holders,
            "api_up": world.api_up,
        }
        texts = {name: json.dumps(value) for name, value in facts.items()}
        for name, value in texts.items():
            if self._facts.get(name) != value:
                self._db.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))
        self._facts = texts

    def _save_machine(self, name: str, machine: Machine | None) -> None:
        if machine is None:
            self._db.execute("DELETE FROM machine WHERE name = ?", (name,))
            self._db.execute("DELETE FROM record WHERE machine = ?", (name,))
            return
        self._db.execute("INSERT OR REPLACE INTO machine VALUES (?, ?)", (name, _MACHINE.dump_json(machine)))
        if self._boots.get(name) != machine.boots:
            # Logs do not survive a reboot; but a client may still be reading what the last boot ended with.
            self._db.execute("DELETE FROM record WHERE machine = ? AND boot < ?", (name, machine.boots - 1))
            self._boots[name] = machine.boots

    def _save_faults(self, world: World) -> None:
        faults = {identity: _FAULT.dump_json(fault) for identity, fault in world.faults.items()}
        for identity in self._faults.keys() - faults.keys():
            self._db.execute("DELETE FROM fault WHERE id = ?", (identity,))
        for identity, data in faults.items():
            if self._faults.get(identity) != data:
                self._db.execute("INSERT OR REPLACE INTO fault VALUES (?, ?)", (identity, data))
        self._faults = faults

    def _save_content(self, world: World) -> None:
        for digest in world.texts.keys() - self._texts:
            self._db.execute("INSERT OR REPLACE INTO text VALUES (?, ?)", (digest, world.texts[digest]))
        for digest in world.blobs.keys() - self._blobs:
            self._db.execute("INSERT OR REPLACE INTO blob VALUES (?, ?)", (digest, world.blobs[digest]))
        self._texts, self._blobs = set(world.texts), set(world.blobs)

    # etcd

    def _cluster(self, uid: str, data: dict[str, Any]) -> Cluster:
        return Cluster(
            uid=uid,
            talos_id=data["talos_id"],
            members=_MEMBERS.validate_python(data["members"]),
            leader=data["leader"],
            term=data["term"],
            index=data["index"],
            alarms={int(number): alarm for number, alarm in data["alarms"].items()},
            store=self._key_values(uid, data),
            behind={
                int(number): View(
                    _MEMBERS.validate_python(view["members"]),
                    self._key_values(f"{uid}:{number}", view),
                    view["index"],
                )
                for number, view in data["behind"].items()
            },
        )

    def _key_values(self, owner: str, data: dict[str, Any]) -> KeyValues:
        rows = self._db.execute("SELECT key, value, created, modified, version FROM entry WHERE owner = ?", (owner,))
        return KeyValues(data["revision"], {row[0]: Entry(*row[1:]) for row in rows}, data["last_deleted"])

    def _save_cluster(self, uid: str, cluster: Cluster | None) -> None:
        if cluster is None:
            self._db.execute("DELETE FROM cluster WHERE uid = ?", (uid,))
            self._db.execute("DELETE FROM entry WHERE owner = ? OR owner GLOB ?", (uid, f"{uid}:*"))
            return
        data = {
            "talos_id": cluster.talos_id,
            "members": {number: asdict(member) for number, member in cluster.members.items()},
            "leader": cluster.leader,
            "term": cluster.term,
            "index": cluster.index,
            "alarms": cluster.alarms,
            **_head(cluster.store),
            "behind": {
                number: {
                    "members": {one: asdict(member) for one, member in view.members.items()},
                    "index": view.index,
                    **_head(view.store),
                }
                for number, view in cluster.behind.items()
            },
        }
        self._db.execute("INSERT OR REPLACE INTO cluster VALUES (?, ?)", (uid, json.dumps(data).encode()))
        self._save_entries(uid, cluster.store)
        kept = {f"{uid}:{number}": view.store for number, view in cluster.behind.items()}
        owners = [
            row[0] for row in self._db.execute("SELECT DISTINCT owner FROM entry WHERE owner GLOB ?", (f"{uid}:*",))
        ]
        for owner in owners:
            if owner not in kept:
                self._db.execute("DELETE FROM entry WHERE owner = ?", (owner,))
        for owner, store in kept.items():
            if store.dirty:
                self._db.execute("DELETE FROM entry WHERE owner = ?", (owner,))
            self._save_entries(owner, store)

    def _save_entries(self, owner: str, store: KeyValues) -> None:
        for key in store.dirty:
            entry = store.entries.get(key)
            if entry is None:
                self._db.execute("DELETE FROM entry WHERE owner = ? AND key = ?", (owner, key))
            else:
                self._db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?)", (owner, key, *entry))
        store.dirty.clear()

    # Records

    def records(self, machine: str, boot: int, source: str, after: int = 0) -> list[tuple[int, Record]]:
        """Of the present boot, in order, each with its number."""
        rows = self._db.execute(
            "SELECT number, at, text, id, actor, kind, payload FROM record"
            " WHERE machine = ? AND source = ? AND boot = ? AND number > ? ORDER BY number",
            (machine, source, boot, after),
        )
        return [
            (row[0], Record(machine, boot, source, row[1], row[2], row[3], row[4], row[5], json.loads(row[6])))
            for row in rows
        ]

    def sources(self, machine: str, boot: int) -> Iterator[str]:
        query = "SELECT DISTINCT source FROM record WHERE machine = ? AND boot = ? ORDER BY source"
        for row in self._db.execute(query, (machine, boot)):
            yield row[0]

    def last_record(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(number), 0) FROM record").fetchone()[0])


def create(path: Path, *, seed: int, pace: PaceName, subnet: str, now: Now) -> tuple[Store, World]:
    """A new lab's store and its empty world."""
    store = Store(path)
    world = World(seed=seed, pace=pace, now=now, subnet=subnet)
    store.save(world)
    return store, world


def _head(store: KeyValues) -> dict[str, Any]:
    return {"revision": store.revision, "last_deleted": store.last_deleted}


def _row(record: Record) -> tuple[Any, ...]:
    return (
        record.machine,
        record.boot,
        record.source,
        record.at,
        record.text,
        record.id,
        record.actor,
        record.kind,
        json.dumps(record.payload) if record.payload else "{}",
    )
