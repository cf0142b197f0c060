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

class ContainersRequest(_message.Message):
    __slots__ = ("namespace", "driver")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    driver: _common_pb2.ContainerDriver
    def __init__(self, namespace: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.ContainerDriver, str]] = ...) -> None: ...

class ContainerInfo(_message.Message):
    __slots__ = ("namespace", "id", "uid", "internal_id", "image", "pid", "status", "pod_id", "name", "network_namespace")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    INTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    POD_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NETWORK_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    uid: str
    internal_id: str
    image: str
    pid: int
    status: str
    pod_id: str
    name: str
    network_namespace: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., uid: _Optional[str] = ..., internal_id: _Optional[str] = ..., image: _Optional[str] = ..., pid: _Optional[int] = ..., status: _Optional[str] = ..., pod_id: _Optional[str] = ..., name: _Optional[str] = ..., network_namespace: _Optional[str] = ...) -> None: ...

class Container(_message.Message):
    __slots__ = ("metadata", "containers")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    containers: _containers.RepeatedCompositeFieldContainer[ContainerInfo]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., containers: _Optional[_Iterable[_Union[ContainerInfo, _Mapping]]] = ...) -> None: ...

class ContainersResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Container]
    def __init__(self, messages: _Optional[_Iterable[_Union[Container, _Mapping]]] = ...) -> None: ...

class StatsRequest(_message.Message):
    __slots__ = ("namespace", "driver")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    driver: _common_pb2.ContainerDriver
    def __init__(self, namespace: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.ContainerDriver, str]] = ...) -> None: ...

class Stat(_message.Message):
    __slots__ = ("namespace", "id", "memory_usage", "cpu_usage", "pod_id", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USAGE_FIELD_NUMBER: _ClassVar[int]
    CPU_USAGE_FIELD_NUMBER: _ClassVar[int]
    POD_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    memory_usage: int
    cpu_usage: int
    pod_id: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., memory_usage: _Optional[int] = ..., cpu_usage: _Optional[int] = ..., pod_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("metadata", "stats")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    stats: _containers.RepeatedCompositeFieldContainer[Stat]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., stats: _Optional[_Iterable[_Union[Stat, _Mapping]]] = ...) -> None: ...

class StatsResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Stats]
    def __init__(self, messages: _Optional[_Iterable[_Union[Stats, _Mapping]]] = ...) -> None: ...

class RestartRequest(_message.Message):
    __slots__ = ("namespace", "id", "driver")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    driver: _common_pb2.ContainerDriver
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.ContainerDriver, str]] = ...) -> None: ...

class Restart(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class RestartResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Restart]
    def __init__(self, messages: _Optional[_Iterable[_Union[Restart, _Mapping]]] = ...) -> None: ...

class LogsRequest(_message.Message):
    __slots__ = ("namespace", "id", "driver", "follow", "tail_lines")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    id: str
    driver: _common_pb2.ContainerDriver
    follow: bool
    tail_lines: int
    def __init__(self, namespace: _Optional[str] = ..., id: _Optional[str] = ..., driver: _Optional[_Union[_common_pb2.ContainerDriver, str]] = ..., follow: _Optional[bool] = ..., tail_lines: _Optional[int] = ...) -> None: ...

class LogsContainer(_message.Message):
    __slots__ = ("metadata", "ids")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class LogsContainersResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[LogsContainer]
    def __init__(self, messages: _Optional[_Iterable[_Union[LogsContainer, _Mapping]]] = ...) -> None: ...

class DmesgRequest(_message.Message):
    __slots__ = ("follow", "tail")
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    follow: bool
    tail: bool
    def __init__(self, follow: _Optional[bool] = ..., tail: _Optional[bool] = ...) -> None: ...

class ImageListRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: _common_pb2.ContainerdNamespace
    def __init__(self, namespace: _Optional[_Union[_common_pb2.ContainerdNamespace, str]] = ...) -> None: ...

class ImageListResponse(_message.Message):
    __slots__ = ("metadata", "name", "digest", "size", "created_at")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    name: str
    digest: str
    size: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., name: _Optional[str] = ..., digest: _Optional[str] = ..., size: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ImagePullRequest(_message.Message):
    __slots__ = ("namespace", "reference")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    namespace: _common_pb2.ContainerdNamespace
    reference: str
    def __init__(self, namespace: _Optional[_Union[_common_pb2.ContainerdNamespace, str]] = ..., reference: _Optional[str] = ...) -> None: ...

class ImagePull(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class ImagePullResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ImagePull]
    def __init__(self, messages: _Optional[_Iterable[_Union[ImagePull, _Mapping]]] = ...) -> None: ...
