"""How far an answer is like the recorded one: ids, times, digests and sizes of the host aside, everything counts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from tests.unit.simulators.pve_client import Answer

SEED_SUM = "d58201a30b35a60612306667b083ca4dfaf9efa107386fff36188e42c34c3c19"
_TIMES = {"starttime", "endtime", "ctime", "uptime", "time", "localtime", "pid", "pstart", "total"}


_HOST_NUMBERS = {"mem", "cpu", "disk", "used", "avail", "free", "available", "used_fraction", "netin"}
_HOST_TEXTS = {"flags", "ssl_fingerprint", "digest", "loadavg"}


_ROW_KEYS = ("volid", "upid", "key", "id", "storage", "iface", "name", "poolid", "path", "vmid", "n", "node")


def checksum(size: int) -> str:
    return hashlib.sha256(bytes(size)).hexdigest()


def differences(exchange: dict[str, Any], answer: Answer) -> Iterator[str]:
    if (exchange["status"], exchange["reason"]) != (answer.status, answer.reason):
        yield f"{exchange['status']} {exchange['reason']} and {answer.line} {answer.body}"
    for name in ("Connection", "Content-Type", "Pragma", "Server"):
        if exchange["headers"].get(name) != answer.headers.get(name):
            yield f"{name}: {exchange['headers'].get(name)} and {answer.headers.get(name)}"
    yield from _of_values("", exchange["body"], answer.body)


def _of_values(where: str, recorded: Any, given: Any) -> Iterator[str]:
    key = where.rpartition(".")[2]
    if isinstance(recorded, dict) and isinstance(given, dict):
        if set(recorded) != set(given):
            yield f"{where}: missing {set(recorded) - set(given)}, too many {set(given) - set(recorded)}"
        kind = ".vm" if "vmid" in recorded else ""
        for name in set(recorded) & set(given):
            yield from _of_values(f"{where}{kind}.{name}", recorded[name], given[name])
    elif isinstance(recorded, list) and isinstance(given, list):
        yield from _of_rows(where, recorded, given)
    elif _kind(recorded) != _kind(given) or not _alike(where, key, recorded, given):
        yield f"{where}: {recorded!r} and {given!r}"


def _kind(value: Any) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _of_rows(where: str, recorded: list[Any], given: list[Any]) -> Iterator[str]:
    if where == ".data" and recorded and "t" in recorded[0]:
        recorded, given = _lines(recorded), _lines(given)
    if len(recorded) != len(given):
        yield f"{where}: {len(recorded)} rows and {len(given)}: {recorded} and {given}"
        return
    for one, other in zip(_ordered(recorded), _ordered(given), strict=True):
        yield from _of_values(where + "[]", one, other)


def _lines(rows: list[Any]) -> list[Any]:
    """How often a tool says how far it is depends on the machine."""
    return [row["t"] for row in rows if not row["t"].startswith("transferred ")]


def _ordered(rows: list[Any]) -> list[Any]:
    """Proxmox VE gives rows in any order."""
    keys = [name for name in _ROW_KEYS if rows and isinstance(rows[0], dict) and name in rows[0]]
    if not keys or keys[0] == "upid":
        return rows
    return sorted(rows, key=lambda row: str(row[keys[0]]))


def _alike(where: str, key: str, recorded: Any, given: Any) -> bool:
    if key in _TIMES | _HOST_NUMBERS or key.startswith("pressure") or key in _HOST_TEXTS or "loadavg" in where:
        return True
    if key in ("maxmem", "maxdisk", "maxcpu") and not where.endswith(f".vm.{key}"):
        return True
    if key == "content" and "," in str(recorded):
        return set(str(recorded).split(",")) == set(str(given).split(","))
    return bool(_normal(recorded) == _normal(given))


def _normal(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for pattern in (
        r"UPID:pve:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"BC:24:11(:[0-9A-F]{2}){3}",
        r"\b[0-9a-f]{40}\b",
        r"ctime=\d+",
        r"pveupload-[0-9a-f]{32}",
        SEED_SUM,
        checksum(409600),
    ):
        value = re.sub(pattern, "…", value)
    return value
