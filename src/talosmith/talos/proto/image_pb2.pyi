# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from talosmith.talos.proto import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ImageServiceListRequest(_message.Message):
    __slots__ = ("containerd",)
    CONTAINERD_FIELD_NUMBER: _ClassVar[int]
    containerd: _common_pb2.ContainerdInstance
    def __init__(self, containerd: _Optional[_Union[_common_pb2.ContainerdInstance, _Mapping]] = ...) -> None: ...

class ImageServiceListResponse(_message.Message):
    __slots__ = ("name", "digest", "size", "created_at", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    digest: str
    size: int
    created_at: _timestamp_pb2.Timestamp
    labels: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., digest: _Optional[str] = ..., size: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ImageServicePullRequest(_message.Message):
    __slots__ = ("containerd", "image_ref")
    CONTAINERD_FIELD_NUMBER: _ClassVar[int]
    IMAGE_REF_FIELD_NUMBER: _ClassVar[int]
    containerd: _common_pb2.ContainerdInstance
    image_ref: str
    def __init__(self, containerd: _Optional[_Union[_common_pb2.ContainerdInstance, _Mapping]] = ..., image_ref: _Optional[str] = ...) -> None: ...

class ImageServicePullResponse(_message.Message):
    __slots__ = ("name", "pull_progress")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PULL_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    pull_progress: ImageServicePullProgress
    def __init__(self, name: _Optional[str] = ..., pull_progress: _Optional[_Union[ImageServicePullProgress, _Mapping]] = ...) -> None: ...

class ImageServicePullProgress(_message.Message):
    __slots__ = ("layer_id", "progress")
    LAYER_ID_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    layer_id: str
    progress: ImageServicePullLayerProgress
    def __init__(self, layer_id: _Optional[str] = ..., progress: _Optional[_Union[ImageServicePullLayerProgress, _Mapping]] = ...) -> None: ...

class ImageServicePullLayerProgress(_message.Message):
    __slots__ = ("status", "elapsed", "offset", "total")
    class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DOWNLOADING: _ClassVar[ImageServicePullLayerProgress.Status]
        DOWNLOAD_COMPLETE: _ClassVar[ImageServicePullLayerProgress.Status]
        EXTRACTING: _ClassVar[ImageServicePullLayerProgress.Status]
        EXTRACT_COMPLETE: _ClassVar[ImageServicePullLayerProgress.Status]
        ALREADY_EXISTS: _ClassVar[ImageServicePullLayerProgress.Status]
    DOWNLOADING: ImageServicePullLayerProgress.Status
    DOWNLOAD_COMPLETE: ImageServicePullLayerProgress.Status
    EXTRACTING: ImageServicePullLayerProgress.Status
    EXTRACT_COMPLETE: ImageServicePullLayerProgress.Status
    ALREADY_EXISTS: ImageServicePullLayerProgress.Status
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    status: ImageServicePullLayerProgress.Status
    elapsed: _duration_pb2.Duration
    offset: int
    total: int
    def __init__(self, status: _Optional[_Union[ImageServicePullLayerProgress.Status, str]] = ..., elapsed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., offset: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class ImageServiceImportRequest(_message.Message):
    __slots__ = ("containerd", "image_chunk")
    CONTAINERD_FIELD_NUMBER: _ClassVar[int]
    IMAGE_CHUNK_FIELD_NUMBER: _ClassVar[int]
    containerd: _common_pb2.ContainerdInstance
    image_chunk: _common_pb2.Data
    def __init__(self, containerd: _Optional[_Union[_common_pb2.ContainerdInstance, _Mapping]] = ..., image_chunk: _Optional[_Union[_common_pb2.Data, _Mapping]] = ...) -> None: ...

class ImageServiceImportResponse(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ImageServiceRemoveRequest(_message.Message):
    __slots__ = ("containerd", "image_ref")
    CONTAINERD_FIELD_NUMBER: _ClassVar[int]
    IMAGE_REF_FIELD_NUMBER: _ClassVar[int]
    containerd: _common_pb2.ContainerdInstance
    image_ref: str
    def __init__(self, containerd: _Optional[_Union[_common_pb2.ContainerdInstance, _Mapping]] = ..., image_ref: _Optional[str] = ...) -> None: ...
