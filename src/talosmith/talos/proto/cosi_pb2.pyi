# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CREATED: _ClassVar[EventType]
    UPDATED: _ClassVar[EventType]
    DESTROYED: _ClassVar[EventType]
    BOOTSTRAPPED: _ClassVar[EventType]
    ERRORED: _ClassVar[EventType]
    NOOP: _ClassVar[EventType]
CREATED: EventType
UPDATED: EventType
DESTROYED: EventType
BOOTSTRAPPED: EventType
ERRORED: EventType
NOOP: EventType

class Metadata(_message.Message):
    __slots__ = ("namespace", "type", "id", "version", "owner", "phase", "created", "updated", "finalizers", "labels", "annotations")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    FINALIZERS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    id: str
    version: str
    owner: str
    phase: str
    created: _timestamp_pb2.Timestamp
    updated: _timestamp_pb2.Timestamp
    finalizers: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    annotations: _containers.ScalarMap[str, str]
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., id: _Optional[str] = ..., version: _Optional[str] = ..., owner: _Optional[str] = ..., phase: _Optional[str] = ..., created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finalizers: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., annotations: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Spec(_message.Message):
    __slots__ = ("proto_spec", "yaml_spec")
    PROTO_SPEC_FIELD_NUMBER: _ClassVar[int]
    YAML_SPEC_FIELD_NUMBER: _ClassVar[int]
    proto_spec: bytes
    yaml_spec: str
    def __init__(self, proto_spec: _Optional[bytes] = ..., yaml_spec: _Optional[str] = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("metadata", "spec")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    metadata: Metadata
    spec: Spec
    def __init__(self, metadata: _Optional[_Union[Metadata, _Mapping]] = ..., spec: _Optional[_Union[Spec, _Mapping]] = ...) -> None: ...

class LabelTerm(_message.Message):
    __slots__ = ("key", "op", "value", "invert")
    class Operation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        EXISTS: _ClassVar[LabelTerm.Operation]
        EQUAL: _ClassVar[LabelTerm.Operation]
        NOT_EXISTS: _ClassVar[LabelTerm.Operation]
        IN: _ClassVar[LabelTerm.Operation]
        LT: _ClassVar[LabelTerm.Operation]
        LTE: _ClassVar[LabelTerm.Operation]
        LT_NUMERIC: _ClassVar[LabelTerm.Operation]
        LTE_NUMERIC: _ClassVar[LabelTerm.Operation]
    EXISTS: LabelTerm.Operation
    EQUAL: LabelTerm.Operation
    NOT_EXISTS: LabelTerm.Operation
    IN: LabelTerm.Operation
    LT: LabelTerm.Operation
    LTE: LabelTerm.Operation
    LT_NUMERIC: LabelTerm.Operation
    LTE_NUMERIC: LabelTerm.Operation
    KEY_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    INVERT_FIELD_NUMBER: _ClassVar[int]
    key: str
    op: LabelTerm.Operation
    value: _containers.RepeatedScalarFieldContainer[str]
    invert: bool
    def __init__(self, key: _Optional[str] = ..., op: _Optional[_Union[LabelTerm.Operation, str]] = ..., value: _Optional[_Iterable[str]] = ..., invert: _Optional[bool] = ...) -> None: ...

class LabelQuery(_message.Message):
    __slots__ = ("terms",)
    TERMS_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedCompositeFieldContainer[LabelTerm]
    def __init__(self, terms: _Optional[_Iterable[_Union[LabelTerm, _Mapping]]] = ...) -> None: ...

class IDQuery(_message.Message):
    __slots__ = ("regexp",)
    REGEXP_FIELD_NUMBER: _ClassVar[int]
    regexp: str
    def __init__(self, regexp: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("namespace", "type", "id", "options")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    id: str
    options: GetOptions
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., id: _Optional[str] = ..., options: _Optional[_Union[GetOptions, _Mapping]] = ...) -> None: ...

class GetOptions(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("namespace", "type", "options")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    options: ListOptions
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., options: _Optional[_Union[ListOptions, _Mapping]] = ...) -> None: ...

class ListOptions(_message.Message):
    __slots__ = ("label_query", "id_query")
    LABEL_QUERY_FIELD_NUMBER: _ClassVar[int]
    ID_QUERY_FIELD_NUMBER: _ClassVar[int]
    label_query: _containers.RepeatedCompositeFieldContainer[LabelQuery]
    id_query: IDQuery
    def __init__(self, label_query: _Optional[_Iterable[_Union[LabelQuery, _Mapping]]] = ..., id_query: _Optional[_Union[IDQuery, _Mapping]] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ...) -> None: ...

class CreateRequest(_message.Message):
    __slots__ = ("resource", "options")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    options: CreateOptions
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ..., options: _Optional[_Union[CreateOptions, _Mapping]] = ...) -> None: ...

class CreateOptions(_message.Message):
    __slots__ = ("owner",)
    OWNER_FIELD_NUMBER: _ClassVar[int]
    owner: str
    def __init__(self, owner: _Optional[str] = ...) -> None: ...

class CreateResponse(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ...) -> None: ...

class UpdateRequest(_message.Message):
    __slots__ = ("new_resource", "options")
    NEW_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    new_resource: Resource
    options: UpdateOptions
    def __init__(self, new_resource: _Optional[_Union[Resource, _Mapping]] = ..., options: _Optional[_Union[UpdateOptions, _Mapping]] = ...) -> None: ...

class UpdateOptions(_message.Message):
    __slots__ = ("owner", "expected_phase")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_PHASE_FIELD_NUMBER: _ClassVar[int]
    owner: str
    expected_phase: str
    def __init__(self, owner: _Optional[str] = ..., expected_phase: _Optional[str] = ...) -> None: ...

class UpdateResponse(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ...) -> None: ...

class DestroyRequest(_message.Message):
    __slots__ = ("namespace", "type", "id", "options")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    id: str
    options: DestroyOptions
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., id: _Optional[str] = ..., options: _Optional[_Union[DestroyOptions, _Mapping]] = ...) -> None: ...

class DestroyOptions(_message.Message):
    __slots__ = ("owner",)
    OWNER_FIELD_NUMBER: _ClassVar[int]
    owner: str
    def __init__(self, owner: _Optional[str] = ...) -> None: ...

class DestroyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Event(_message.Message):
    __slots__ = ("resource", "event_type", "old", "error", "bookmark")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    OLD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BOOKMARK_FIELD_NUMBER: _ClassVar[int]
    resource: Resource
    event_type: EventType
    old: Resource
    error: str
    bookmark: bytes
    def __init__(self, resource: _Optional[_Union[Resource, _Mapping]] = ..., event_type: _Optional[_Union[EventType, str]] = ..., old: _Optional[_Union[Resource, _Mapping]] = ..., error: _Optional[str] = ..., bookmark: _Optional[bytes] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("namespace", "type", "id", "options", "api_version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    API_VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    id: str
    options: WatchOptions
    api_version: int
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., id: _Optional[str] = ..., options: _Optional[_Union[WatchOptions, _Mapping]] = ..., api_version: _Optional[int] = ...) -> None: ...

class WatchOptions(_message.Message):
    __slots__ = ("bootstrap_contents", "tail_events", "label_query", "id_query", "aggregated", "start_from_bookmark", "bootstrap_bookmark")
    BOOTSTRAP_CONTENTS_FIELD_NUMBER: _ClassVar[int]
    TAIL_EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABEL_QUERY_FIELD_NUMBER: _ClassVar[int]
    ID_QUERY_FIELD_NUMBER: _ClassVar[int]
    AGGREGATED_FIELD_NUMBER: _ClassVar[int]
    START_FROM_BOOKMARK_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAP_BOOKMARK_FIELD_NUMBER: _ClassVar[int]
    bootstrap_contents: bool
    tail_events: int
    label_query: _containers.RepeatedCompositeFieldContainer[LabelQuery]
    id_query: IDQuery
    aggregated: bool
    start_from_bookmark: bytes
    bootstrap_bookmark: bool
    def __init__(self, bootstrap_contents: _Optional[bool] = ..., tail_events: _Optional[int] = ..., label_query: _Optional[_Iterable[_Union[LabelQuery, _Mapping]]] = ..., id_query: _Optional[_Union[IDQuery, _Mapping]] = ..., aggregated: _Optional[bool] = ..., start_from_bookmark: _Optional[bytes] = ..., bootstrap_bookmark: _Optional[bool] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, event: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...
