"""The methods of the Talos API that the lab has, found by their path, and who answers them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError

from talosmith.talos.proto import (
    cluster_pb2,
    cosi_pb2,
    image_pb2,
    inspect_pb2,
    lifecycle_pb2,
    machine_pb2,
    storage_pb2,
    time_pb2,
)
from talosmith_lab.machine import Machine
from talosmith_lab.server.engine import Engine
from talosmith_lab.world import World

_FILES = (cluster_pb2, cosi_pb2, image_pb2, inspect_pb2, lifecycle_pb2, machine_pb2, storage_pb2, time_pb2)


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the node sees it that answers."""

    engine: Engine
    machine: Machine
    roles: frozenset[str]
    maintenance: bool
    client: str  # the same for all connections of one client

    @property
    def world(self) -> World:
        return self.engine.world


# A plain method returns its reply, one that streams yields them; requests that stream come as an iterator.
Answer = Callable[[Call, Any], Any]
Requests = AsyncIterator[Any]


@dataclass(frozen=True, slots=True)
class Method:
    path: str
    cardinality: Cardinality
    request: type[Message]
    reply: type[Message]
    answer: Answer


_ANSWERS: dict[str, Answer] = {}


def answers(path: str) -> Callable[[Answer], Answer]:
    """Declares who answers a method: `machine.MachineService/Version`."""

    def declare(answer: Answer) -> Answer:
        _ANSWERS[f"/{path}"] = answer
        return answer

    return declare


@cache
def methods() -> Mapping[str, Method]:
    """All methods that are answered, by path."""
    found = {}
    for file in _FILES:
        service: ServiceDescriptor
        for service in file.DESCRIPTOR.services_by_name.values():
            for descriptor in service.methods:
                path = f"/{service.full_name}/{descriptor.name}"
                if path in _ANSWERS:
                    found[path] = _method(path, descriptor)
    missing = _ANSWERS.keys() - found.keys()
    assert not missing, f"no such methods: {missing}"  # noqa: S101
    return found


def _method(path: str, descriptor: MethodDescriptor) -> Method:
    cardinality = {
        (False, False): Cardinality.UNARY_UNARY,
        (False, True): Cardinality.UNARY_STREAM,
        (True, False): Cardinality.STREAM_UNARY,
    }[descriptor.client_streaming, descriptor.server_streaming]
    request, reply = GetMessageClass(descriptor.input_type), GetMessageClass(descriptor.output_type)
    return Method(path, cardinality, request, reply, _ANSWERS[path])


def fail(status: Status, message: str) -> GRPCError:
    return GRPCError(status, message)


def need_control_plane(call: Call, what: str) -> None:
    config = call.world.config(call.machine)
    if config is None or not config.is_controlplane:
        raise fail(Status.UNIMPLEMENTED, f"{what} is only available on control plane nodes")
