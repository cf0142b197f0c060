# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from talosmith.talos.proto import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApplyConfigurationRequest(_message.Message):
    __slots__ = ("data", "mode", "dry_run", "try_mode_timeout")
    class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REBOOT: _ClassVar[ApplyConfigurationRequest.Mode]
        AUTO: _ClassVar[ApplyConfigurationRequest.Mode]
        NO_REBOOT: _ClassVar[ApplyConfigurationRequest.Mode]
        STAGED: _ClassVar[ApplyConfigurationRequest.Mode]
        TRY: _ClassVar[ApplyConfigurationRequest.Mode]
    REBOOT: ApplyConfigurationRequest.Mode
    AUTO: ApplyConfigurationRequest.Mode
    NO_REBOOT: ApplyConfigurationRequest.Mode
    STAGED: ApplyConfigurationRequest.Mode
    TRY: ApplyConfigurationRequest.Mode
    DATA_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    TRY_MODE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    mode: ApplyConfigurationRequest.Mode
    dry_run: bool
    try_mode_timeout: _duration_pb2.Duration
    def __init__(self, data: _Optional[bytes] = ..., mode: _Optional[_Union[ApplyConfigurationRequest.Mode, str]] = ..., dry_run: _Optional[bool] = ..., try_mode_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ApplyConfiguration(_message.Message):
    __slots__ = ("metadata", "warnings", "mode", "mode_details")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MODE_DETAILS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    warnings: _containers.RepeatedScalarFieldContainer[str]
    mode: ApplyConfigurationRequest.Mode
    mode_details: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., mode: _Optional[_Union[ApplyConfigurationRequest.Mode, str]] = ..., mode_details: _Optional[str] = ...) -> None: ...

class ApplyConfigurationResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ApplyConfiguration]
    def __init__(self, messages: _Optional[_Iterable[_Union[ApplyConfiguration, _Mapping]]] = ...) -> None: ...

class BootstrapRequest(_message.Message):
    __slots__ = ("recover_etcd", "recover_skip_hash_check")
    RECOVER_ETCD_FIELD_NUMBER: _ClassVar[int]
    RECOVER_SKIP_HASH_CHECK_FIELD_NUMBER: _ClassVar[int]
    recover_etcd: bool
    recover_skip_hash_check: bool
    def __init__(self, recover_etcd: _Optional[bool] = ..., recover_skip_hash_check: _Optional[bool] = ...) -> None: ...

class Bootstrap(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class BootstrapResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Bootstrap]
    def __init__(self, messages: _Optional[_Iterable[_Union[Bootstrap, _Mapping]]] = ...) -> None: ...

class GenerateClientConfigurationRequest(_message.Message):
    __slots__ = ("roles", "crt_ttl")
    ROLES_FIELD_NUMBER: _ClassVar[int]
    CRT_TTL_FIELD_NUMBER: _ClassVar[int]
    roles: _containers.RepeatedScalarFieldContainer[str]
    crt_ttl: _duration_pb2.Duration
    def __init__(self, roles: _Optional[_Iterable[str]] = ..., crt_ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GenerateClientConfiguration(_message.Message):
    __slots__ = ("metadata", "ca", "crt", "key", "talosconfig")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CA_FIELD_NUMBER: _ClassVar[int]
    CRT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TALOSCONFIG_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    ca: bytes
    crt: bytes
    key: bytes
    talosconfig: bytes
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., ca: _Optional[bytes] = ..., crt: _Optional[bytes] = ..., key: _Optional[bytes] = ..., talosconfig: _Optional[bytes] = ...) -> None: ...

class GenerateClientConfigurationResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[GenerateClientConfiguration]
    def __init__(self, messages: _Optional[_Iterable[_Union[GenerateClientConfiguration, _Mapping]]] = ...) -> None: ...
