"""Speaks to a lab that runs: machines are made and switched, faults come and go."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.secret import Secret

_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class LabClient:
    name: str
    host: str
    port: int
    token: Secret

    @classmethod
    def from_file(cls, name: str, path: Path) -> LabClient:
        """By what the running lab has written about itself."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(name, data["host"], data["port"], Secret(data["token"]))
        except (OSError, ValueError, KeyError) as problem:
            raise Permanent(
                f"cannot tell how to reach the lab {name!r}: {type(problem).__name__}",
                hint=f"stop and start it again: talosmith lab stop {name} && talosmith lab start {name}",
            ) from None

    def call(self, what: str, **arguments: Any) -> Any:
        request = {"token": self.token.reveal(), "call": what, "with": arguments}
        try:
            with socket.create_connection((self.host, self.port), timeout=_PATIENCE) as connection:
                connection.sendall(json.dumps(request).encode() + b"\n")
                answer = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
        except (OSError, ValueError) as problem:
            raise Temporary(
                f"the lab {self.name!r} does not answer: {problem}", hint=f"see `talosmith lab status {self.name}`"
            ) from None
        if "error" in answer:
            raise Permanent(answer["error"], hint=answer.get("hint", ""))
        return answer["done"]

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("status")
        return found

    def stop(self) -> None:
        self.call("stop")

    def create_machine(self, name: str, **hardware: Any) -> dict[str, Any]:
        """What it can be made with: `hardware.create`; with `power=False` it stays off."""
        made: dict[str, Any] = self.call("machine.create", name=name, **hardware)
        return made

    def machines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("machine.list")
        return found

    def machine(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("machine.list", name=name)[0]
        return found

    def power_on(self, *names: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("machine.power-on", names=names)
        return found

    def power_off(self, *names: str, graceful: bool = False) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("machine.power-off", names=names, graceful=graceful)
        return found

    def reboot(self, *names: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("machine.reboot", names=names)
        return found

    def wipe(self, *names: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("machine.wipe", names=names)
        return found

    def delete(self, *names: str) -> None:
        self.call("machine.delete", names=names)

    def add_fault(self, kind: str, machines: Sequence[str] = (), **details: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.call("fault.add", kind=kind, machines=list(machines), **details)
        return made

    def faults(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("fault.list")
        return found

    def clear_faults(self, *ids: str) -> list[str]:
        gone: list[str] = self.call("fault.clear", ids=list(ids) or None)
        return gone
