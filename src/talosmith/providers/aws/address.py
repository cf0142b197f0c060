"""The public address of this computer, for the rules of security groups where the inventory names no networks."""

from __future__ import annotations

import os
from ipaddress import ip_address

from talosmith.call_log import logged
from talosmith.errors import Temporary

URL = "https://checkip.amazonaws.com"
VARIABLE = "TALOSMITH_ADDRESS_URL"
_LIMIT = 10.0  # seconds
_HINT = "set `aws.admin_cidrs` to the networks that may reach the Talos and Kubernetes APIs"


async def own_address() -> str:
    """As a network of one address."""
    import httpx2

    url = os.environ.get(VARIABLE, URL)
    try:
        with logged("address", url, "GET"):
            async with httpx2.AsyncClient(timeout=_LIMIT) as client:
                answer = await client.get(url)
                answer.raise_for_status()
        address = ip_address(answer.text.strip())
    except (httpx2.HTTPError, ValueError) as wrong:
        raise Temporary(f"the public address of this computer is not known: {url}: {wrong}", hint=_HINT) from None
    return f"{address}/{address.max_prefixlen}"
