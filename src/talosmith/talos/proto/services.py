"""The services of the Talos API as tables of methods, read from the descriptors of the generated messages.

All that a generator of stubs writes is in the descriptors; `services.pyi`, which is generated, gives the types.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from google.protobuf.message_factory import GetMessageClass
from grpclib.client import Channel, StreamStreamMethod, StreamUnaryMethod, UnaryStreamMethod, UnaryUnaryMethod

_HOMES = {  # the generated module that describes each service
    "ClusterService": "cluster_pb2",
    "ImageService": "image_pb2",
    "LifecycleService": "lifecycle_pb2",
    "MachineService": "machine_pb2",
    "State": "cosi_pb2",
    "StorageService": "storage_pb2",
    "TimeService": "time_pb2",
}
_KINDS = {  # by whether the client and whether the node sends a stream
    (False, False): UnaryUnaryMethod,
    (False, True): UnaryStreamMethod,
    (True, False): StreamUnaryMethod,
    (True, True): StreamStreamMethod,
}


class _Stub:
    """A service over a channel; a method is made when it is first asked for."""

    def __init__(self, service: Any, channel: Channel) -> None:
        self._service = service
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        method = self._service.methods_by_name.get(name)
        if method is None:
            raise AttributeError(f"{self._service.full_name} has no method {name!r}")
        kind = _KINDS[method.client_streaming, method.server_streaming]
        path = f"/{self._service.full_name}/{name}"
        made = kind(self._channel, path, GetMessageClass(method.input_type), GetMessageClass(method.output_type))
        setattr(self, name, made)
        return made


def __getattr__(name: str) -> Any:
    """`MachineServiceStub` for the service `MachineService`."""
    service = name.removesuffix("Stub")
    if service == name or service not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    described = import_module(f"{__package__}.{_HOMES[service]}").DESCRIPTOR.services_by_name[service]
    return partial(_Stub, described)
