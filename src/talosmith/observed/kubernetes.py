"""The nodes as Kubernetes has them, by whichever control plane answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from talosmith.errors import TalosmithError
from talosmith.observed.world import KubeNodeSeen, Unknown

if TYPE_CHECKING:
    from talosmith.kube import KubeClient, KubeNode

AskKube = Callable[[list[str]], "KubeClient"]

_ANSWER = 4.0  # seconds for each control plane
_TRIED = 3  # one that answers is enough
_PAGE = "500"


async def look_at_kubernetes(kube: AskKube, addresses: Sequence[str]) -> dict[str, KubeNodeSeen] | Unknown:
    """Asked once each, the best first: an API that is not up yet is a fact, and not worth waiting for."""
    reasons: list[str] = []
    for address in addresses[:_TRIED]:
        client = kube([address])
        try:
            async with asyncio.timeout(_ANSWER):
                return {node.name: _seen(node) for node in await nodes_now(client)}
        except TalosmithError as wrong:
            reasons.append(str(wrong))
        except TimeoutError:
            reasons.append(f"{address}: no answer within {_ANSWER:g} s")
        finally:
            await client.close()
    return Unknown("; ".join(dict.fromkeys(reasons)) or "no control plane could be asked")


async def nodes_now(client: KubeClient) -> list[KubeNode]:
    """Asked once, and by the plain path: asking which kinds there are would be another question."""
    from talosmith.kube import KubeNode

    params = {"limit": _PAGE}
    found: list[KubeNode] = []
    while True:
        answer = await client.caller.ask("GET", "/api/v1/nodes", params=params, about="all nodes", attempts=1)
        page: dict[str, Any] = answer.item
        found += [KubeNode.of(item) for item in page.get("items") or ()]
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return sorted(found, key=lambda node: node.name)
        params["continue"] = token


def _seen(node: KubeNode) -> KubeNodeSeen:
    return KubeNodeSeen(
        name=node.name,
        ready=node.ready,
        version=node.kubelet,
        cordoned_by=node.cordoned_by,
        reason="" if node.ready else node.reason,
        addresses=tuple(address for kind, address in node.addresses if kind == "InternalIP"),
    )
