"""Whether a control plane's API server is ready by its own account, and which of its checks fail if not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from talosmith.kube import errors
from talosmith.kube.client import KubeClient

_FAILED = re.compile(r"^\[-\](\S+) failed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ApiHealth:
    """Of the server that answered; `failing` has names of checks, such as `etcd`."""

    server: str
    ready: bool
    failing: tuple[str, ...] = ()


async def api_health(client: KubeClient) -> ApiHealth:
    """Asked once. For each control plane by itself, give each a client of its own. Raises if no server answers."""
    try:
        answer = await client.caller.ask("GET", "/readyz", params={"verbose": ""}, about="GET /readyz", attempts=1)
    except errors.NotReady as wrong:
        if wrong.code != 500:
            raise
        return ApiHealth(wrong.server, False, tuple(_FAILED.findall(wrong.said)))
    return ApiHealth(answer.server, True)
