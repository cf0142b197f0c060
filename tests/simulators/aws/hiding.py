"""Eventual consistency: what was created a moment ago is not yet seen by every server of AWS.

Hidden things are taken out of moto's state for the time of a call, so that moto itself answers with the error that
belongs to each. A call that reads sees none of them; a call that changes something misses those that it names by id.
Names stay taken: a second creation is still refused as a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .backends import ec2_of, elbv2_of, iam_of
from .calls import Call

if TYPE_CHECKING:
    from .world import Cloud

_EC2 = ("vpcs", "route_tables", "internet_gateways", "nat_gateways", "enis", "volumes", "reservations", "key_pairs")


@contextmanager
def hidden_from(cloud: Cloud, call: Call) -> Iterator[None]:
    """Hide what is too new for a call to see, and remember what the call creates."""
    _forget(cloud)
    if not cloud.hiding_for and not cloud.hidden:
        yield
        return
    before = {key for store in _stores(call) for key in _keys(store)}
    taken = [(store, key, _take(store, key)) for store in _stores(call) for key in _to_hide(cloud, call, store)]
    try:
        yield
    finally:
        for store, key, thing in taken:
            _put(store, key, thing)
    if cloud.hiding_for and call.mutating:
        until = cloud.clock.now() + cloud.hiding_for
        for store in _stores(call):
            for key in _keys(store):
                if key not in before:
                    cloud.hidden[key] = until


def is_hidden(cloud: Cloud, key: str) -> bool:
    _forget(cloud)
    return key in cloud.hidden


def _forget(cloud: Cloud) -> None:
    now = cloud.clock.now()
    for key in [key for key, until in cloud.hidden.items() if until <= now]:
        del cloud.hidden[key]


def _to_hide(cloud: Cloud, call: Call, store: Any) -> list[str]:
    found = [key for key in _keys(store) if key in cloud.hidden]
    if not call.mutating:
        return found
    mentioned = call.mentioned
    return [key for key in found if mentioned & _names(call, store, key)]


def _names(call: Call, store: Any, key: str) -> set[str]:
    """How a request names a thing."""
    if isinstance(store, list):
        return {key}
    thing = store[key]
    if hasattr(thing, "instances"):  # a reservation
        return {instance.id for instance in thing.instances}
    if call.service == "iam":
        return set() if call.action.startswith("Create") else {key, str(thing.name)}
    return {key}


def _stores(call: Call) -> list[Any]:
    """Of moto: mappings by id, and the list of Elastic IPs."""
    found: list[Any] = []
    if call.service in ("ec2", "resourcegroupstaggingapi"):
        backend = ec2_of(call)
        nested = [*backend.subnets.values(), *backend.groups.values()]
        found += [*(getattr(backend, name) for name in _EC2), *nested, backend.addresses]
    if call.service in ("elbv2", "resourcegroupstaggingapi"):
        found += [elbv2_of(call).load_balancers, elbv2_of(call).target_groups]
    if call.service == "iam":
        found += [iam_of(call).roles, iam_of(call).instance_profiles]
    return found


def _keys(store: Any) -> list[str]:
    return [one.allocation_id for one in store] if isinstance(store, list) else list(store)


def _take(store: Any, key: str) -> Any:
    if isinstance(store, list):
        thing = next(one for one in store if one.allocation_id == key)
        store.remove(thing)
        return thing
    return store.pop(key)


def _put(store: Any, key: str, thing: Any) -> None:
    if isinstance(store, list):
        store.append(thing)
    else:
        store[key] = thing
