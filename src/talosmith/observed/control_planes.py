"""Whether each control plane serves the Kubernetes API: asked one by one, as a client of all hides failures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient, api_health

_ANSWER = 5.0  # seconds


async def api_readiness(clients: Mapping[str, KubeClient]) -> dict[str, str]:
    """By control plane: why its API server is not ready, by its own `/readyz`; empty if it is ready."""
    found = await asyncio.gather(*map(_why_not, clients.values()))
    return dict(zip(clients, found, strict=True))


async def _why_not(client: KubeClient) -> str:
    try:
        async with asyncio.timeout(_ANSWER):
            health = await api_health(client)
    except TalosmithError as wrong:
        return str(wrong)
    except TimeoutError:
        return f"no answer within {_ANSWER:g} s"
    return "" if health.ready else f"/readyz fails: {', '.join(health.failing) or 'no reason given'}"
