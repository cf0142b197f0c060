# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from talosmith.talos.proto import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ServiceInfo(_message.Message):
    __slots__ = ("id", "state", "events", "health")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: str
    events: ServiceEvents
    health: ServiceHealth
    def __init__(self, id: _Optional[str] = ..., state: _Optional[str] = ..., events: _Optional[_Union[ServiceEvents, _Mapping]] = ..., health: _Optional[_Union[ServiceHealth, _Mapping]] = ...) -> None: ...

class ServiceEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[ServiceEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[ServiceEvent, _Mapping]]] = ...) -> None: ...

class ServiceEvent(_message.Message):
    __slots__ = ("msg", "state", "ts")
    MSG_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TS_FIELD_NUMBER: _ClassVar[int]
    msg: str
    state: str
    ts: _timestamp_pb2.Timestamp
    def __init__(self, msg: _Optional[str] = ..., state: _Optional[str] = ..., ts: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ServiceHealth(_message.Message):
    __slots__ = ("unknown", "healthy", "last_message", "last_change")
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    HEALTHY_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LAST_CHANGE_FIELD_NUMBER: _ClassVar[int]
    unknown: bool
    healthy: bool
    last_message: str
    last_change: _timestamp_pb2.Timestamp
    def __init__(self, unknown: _Optional[bool] = ..., healthy: _Optional[bool] = ..., last_message: _Optional[str] = ..., last_change: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ServiceList(_message.Message):
    __slots__ = ("metadata", "services")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    services: _containers.RepeatedCompositeFieldContainer[ServiceInfo]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., services: _Optional[_Iterable[_Union[ServiceInfo, _Mapping]]] = ...) -> None: ...

class ServiceListResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ServiceList]
    def __init__(self, messages: _Optional[_Iterable[_Union[ServiceList, _Mapping]]] = ...) -> None: ...

class ServiceStartRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ServiceStart(_message.Message):
    __slots__ = ("metadata", "resp")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RESP_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    resp: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., resp: _Optional[str] = ...) -> None: ...

class ServiceStartResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ServiceStart]
    def __init__(self, messages: _Optional[_Iterable[_Union[ServiceStart, _Mapping]]] = ...) -> None: ...

class ServiceStopRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ServiceStop(_message.Message):
    __slots__ = ("metadata", "resp")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RESP_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    resp: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., resp: _Optional[str] = ...) -> None: ...

class ServiceStopResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ServiceStop]
    def __init__(self, messages: _Optional[_Iterable[_Union[ServiceStop, _Mapping]]] = ...) -> None: ...

class ServiceRestartRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ServiceRestart(_message.Message):
    __slots__ = ("metadata", "resp")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RESP_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    resp: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., resp: _Optional[str] = ...) -> None: ...

class ServiceRestartResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ServiceRestart]
    def __init__(self, messages: _Optional[_Iterable[_Union[ServiceRestart, _Mapping]]] = ...) -> None: ...
