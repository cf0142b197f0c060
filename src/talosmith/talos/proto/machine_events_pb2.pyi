# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
from google.protobuf import any_pb2 as _any_pb2
from talosmith.talos.proto import common_pb2 as _common_pb2
from talosmith.talos.proto import machine_services_pb2 as _machine_services_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventsRequest(_message.Message):
    __slots__ = ("tail_events", "tail_id", "tail_seconds", "with_actor_id")
    TAIL_EVENTS_FIELD_NUMBER: _ClassVar[int]
    TAIL_ID_FIELD_NUMBER: _ClassVar[int]
    TAIL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    WITH_ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    tail_events: int
    tail_id: str
    tail_seconds: int
    with_actor_id: str
    def __init__(self, tail_events: _Optional[int] = ..., tail_id: _Optional[str] = ..., tail_seconds: _Optional[int] = ..., with_actor_id: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("metadata", "data", "id", "actor_id")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    data: _any_pb2.Any
    id: str
    actor_id: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., data: _Optional[_Union[_any_pb2.Any, _Mapping]] = ..., id: _Optional[str] = ..., actor_id: _Optional[str] = ...) -> None: ...

class SequenceEvent(_message.Message):
    __slots__ = ("sequence", "action", "error")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NOOP: _ClassVar[SequenceEvent.Action]
        START: _ClassVar[SequenceEvent.Action]
        STOP: _ClassVar[SequenceEvent.Action]
    NOOP: SequenceEvent.Action
    START: SequenceEvent.Action
    STOP: SequenceEvent.Action
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    sequence: str
    action: SequenceEvent.Action
    error: _common_pb2.Error
    def __init__(self, sequence: _Optional[str] = ..., action: _Optional[_Union[SequenceEvent.Action, str]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class PhaseEvent(_message.Message):
    __slots__ = ("phase", "action")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        START: _ClassVar[PhaseEvent.Action]
        STOP: _ClassVar[PhaseEvent.Action]
    START: PhaseEvent.Action
    STOP: PhaseEvent.Action
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    phase: str
    action: PhaseEvent.Action
    def __init__(self, phase: _Optional[str] = ..., action: _Optional[_Union[PhaseEvent.Action, str]] = ...) -> None: ...

class TaskEvent(_message.Message):
    __slots__ = ("task", "action")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        START: _ClassVar[TaskEvent.Action]
        STOP: _ClassVar[TaskEvent.Action]
    START: TaskEvent.Action
    STOP: TaskEvent.Action
    TASK_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    task: str
    action: TaskEvent.Action
    def __init__(self, task: _Optional[str] = ..., action: _Optional[_Union[TaskEvent.Action, str]] = ...) -> None: ...

class ServiceStateEvent(_message.Message):
    __slots__ = ("service", "action", "message", "health")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        INITIALIZED: _ClassVar[ServiceStateEvent.Action]
        PREPARING: _ClassVar[ServiceStateEvent.Action]
        WAITING: _ClassVar[ServiceStateEvent.Action]
        RUNNING: _ClassVar[ServiceStateEvent.Action]
        STOPPING: _ClassVar[ServiceStateEvent.Action]
        FINISHED: _ClassVar[ServiceStateEvent.Action]
        FAILED: _ClassVar[ServiceStateEvent.Action]
        SKIPPED: _ClassVar[ServiceStateEvent.Action]
        STARTING: _ClassVar[ServiceStateEvent.Action]
    INITIALIZED: ServiceStateEvent.Action
    PREPARING: ServiceStateEvent.Action
    WAITING: ServiceStateEvent.Action
    RUNNING: ServiceStateEvent.Action
    STOPPING: ServiceStateEvent.Action
    FINISHED: ServiceStateEvent.Action
    FAILED: ServiceStateEvent.Action
    SKIPPED: ServiceStateEvent.Action
    STARTING: ServiceStateEvent.Action
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    service: str
    action: ServiceStateEvent.Action
    message: str
    health: _machine_services_pb2.ServiceHealth
    def __init__(self, service: _Optional[str] = ..., action: _Optional[_Union[ServiceStateEvent.Action, str]] = ..., message: _Optional[str] = ..., health: _Optional[_Union[_machine_services_pb2.ServiceHealth, _Mapping]] = ...) -> None: ...

class RestartEvent(_message.Message):
    __slots__ = ("cmd",)
    CMD_FIELD_NUMBER: _ClassVar[int]
    cmd: int
    def __init__(self, cmd: _Optional[int] = ...) -> None: ...

class ConfigLoadErrorEvent(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class ConfigValidationErrorEvent(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class AddressEvent(_message.Message):
    __slots__ = ("hostname", "addresses")
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, hostname: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ...) -> None: ...

class MachineStatusEvent(_message.Message):
    __slots__ = ("stage", "status")
    class MachineStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[MachineStatusEvent.MachineStage]
        BOOTING: _ClassVar[MachineStatusEvent.MachineStage]
        INSTALLING: _ClassVar[MachineStatusEvent.MachineStage]
        MAINTENANCE: _ClassVar[MachineStatusEvent.MachineStage]
        RUNNING: _ClassVar[MachineStatusEvent.MachineStage]
        REBOOTING: _ClassVar[MachineStatusEvent.MachineStage]
        SHUTTING_DOWN: _ClassVar[MachineStatusEvent.MachineStage]
        RESETTING: _ClassVar[MachineStatusEvent.MachineStage]
        UPGRADING: _ClassVar[MachineStatusEvent.MachineStage]
    UNKNOWN: MachineStatusEvent.MachineStage
    BOOTING: MachineStatusEvent.MachineStage
    INSTALLING: MachineStatusEvent.MachineStage
    MAINTENANCE: MachineStatusEvent.MachineStage
    RUNNING: MachineStatusEvent.MachineStage
    REBOOTING: MachineStatusEvent.MachineStage
    SHUTTING_DOWN: MachineStatusEvent.MachineStage
    RESETTING: MachineStatusEvent.MachineStage
    UPGRADING: MachineStatusEvent.MachineStage
    class MachineStatus(_message.Message):
        __slots__ = ("ready", "unmet_conditions")
        class UnmetCondition(_message.Message):
            __slots__ = ("name", "reason")
            NAME_FIELD_NUMBER: _ClassVar[int]
            REASON_FIELD_NUMBER: _ClassVar[int]
            name: str
            reason: str
            def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
        READY_FIELD_NUMBER: _ClassVar[int]
        UNMET_CONDITIONS_FIELD_NUMBER: _ClassVar[int]
        ready: bool
        unmet_conditions: _containers.RepeatedCompositeFieldContainer[MachineStatusEvent.MachineStatus.UnmetCondition]
        def __init__(self, ready: _Optional[bool] = ..., unmet_conditions: _Optional[_Iterable[_Union[MachineStatusEvent.MachineStatus.UnmetCondition, _Mapping]]] = ...) -> None: ...
    STAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    stage: MachineStatusEvent.MachineStage
    status: MachineStatusEvent.MachineStatus
    def __init__(self, stage: _Optional[_Union[MachineStatusEvent.MachineStage, str]] = ..., status: _Optional[_Union[MachineStatusEvent.MachineStatus, _Mapping]] = ...) -> None: ...
