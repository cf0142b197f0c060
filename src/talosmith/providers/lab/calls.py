"""Calls to a lab that runs. Unlike those of who keeps it, they meet with the lab's faults."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from talosmith.call_log import logged
from talosmith.errors import Permanent, Temporary
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.refusals import REFUSALS

PATIENCE = 10.0  # seconds; the lab answers at once, or a fault makes it silent on purpose
_UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class LabCalls:
    client: LabClient
    patience: float = PATIENCE

    async def __call__(self, what: str, **arguments: Any) -> Any:
        """Raises `MachineExists` and `NoSuchMachine`, `Temporary` and `Permanent`."""
        with logged("lab", self.client.name, what):
            return await self._called(what, arguments)

    async def _called(self, what: str, arguments: dict[str, Any]) -> Any:
        token = self.client.token.reveal()
        request = json.dumps({"token": token, "call": what, "with": arguments, "by": "provider"}).encode() + b"\n"
        try:
            async with asyncio.timeout(self.patience):
                answer = json.loads(await self._exchange(request))
        except TimeoutError:
            raise Temporary(
                f"the lab {self.client.name!r} gave no answer to {what} within {self.patience:g} s; "
                "whether it was done is not known",
                hint="running the same command again finds out, and goes on from there",
            ) from None
        except (OSError, ValueError) as problem:
            raise Temporary(
                f"the lab {self.client.name!r} does not answer: {problem}",
                hint=f"see `talosmith lab status {self.client.name}`",
            ) from None
        if "error" not in answer:
            return answer["done"]
        kind, hint = answer.get("kind", ""), answer.get("hint", "")
        if kind in REFUSALS:
            raise REFUSALS[kind](answer["error"], hint=hint)
        if kind == _UNAVAILABLE:
            raise Temporary(f"{what}: {answer['error']}", hint=hint, retry_after=0.1)
        raise Permanent(f"{what}: {answer['error']}", hint=hint)

    async def _exchange(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self.client.host, self.client.port)
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()
