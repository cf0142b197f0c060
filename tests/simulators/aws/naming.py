"""Names that the simulated AWS knows: Route 53's records, and the names of load balancers.

A load balancer has the address that a forwarder or a test has set for it, for its own are not of this computer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import images  # isort: skip
from moto.elbv2.models import elbv2_backends
from moto.route53.models import route53_backends

if TYPE_CHECKING:
    from .world import Cloud

assert images  # before moto
_DEPTH = 5  # of aliases and CNAMEs that lead to one another


def resolve(cloud: Cloud, host: str, depth: int = 0) -> str:
    """An address, or nothing."""
    name = host.rstrip(".").lower()
    for balancer in balancers():
        if name in (balancer.dns_name.lower(), f"dualstack.{balancer.dns_name.lower()}"):
            return cloud.address_of(balancer)
    if depth < _DEPTH:
        for record in _records():
            if record.name.rstrip(".").lower() == name:
                if record.alias_target:
                    return resolve(cloud, record.alias_target["DNSName"], depth + 1)
                if record.type == "CNAME":
                    return resolve(cloud, str(record.records[0]), depth + 1)
                if record.type == "A":
                    return str(record.records[0])
    return ""


def balancers() -> Iterator[Any]:
    for account in list(elbv2_backends.values()):
        for backend in list(account.values()):
            yield from list(backend.load_balancers.values())


def _records() -> Iterator[Any]:
    for account in list(route53_backends.values()):
        for backend in list(account.values()):
            for zone in backend.zones.values():
                yield from zone.rrsets
