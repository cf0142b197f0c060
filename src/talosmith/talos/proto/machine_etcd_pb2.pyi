# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
from talosmith.talos.proto import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EtcdMemberListRequest(_message.Message):
    __slots__ = ("query_local",)
    QUERY_LOCAL_FIELD_NUMBER: _ClassVar[int]
    query_local: bool
    def __init__(self, query_local: _Optional[bool] = ...) -> None: ...

class EtcdMember(_message.Message):
    __slots__ = ("id", "hostname", "peer_urls", "client_urls", "is_learner")
    ID_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    PEER_URLS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_URLS_FIELD_NUMBER: _ClassVar[int]
    IS_LEARNER_FIELD_NUMBER: _ClassVar[int]
    id: int
    hostname: str
    peer_urls: _containers.RepeatedScalarFieldContainer[str]
    client_urls: _containers.RepeatedScalarFieldContainer[str]
    is_learner: bool
    def __init__(self, id: _Optional[int] = ..., hostname: _Optional[str] = ..., peer_urls: _Optional[_Iterable[str]] = ..., client_urls: _Optional[_Iterable[str]] = ..., is_learner: _Optional[bool] = ...) -> None: ...

class EtcdMembers(_message.Message):
    __slots__ = ("metadata", "legacy_members", "members")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    LEGACY_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    legacy_members: _containers.RepeatedScalarFieldContainer[str]
    members: _containers.RepeatedCompositeFieldContainer[EtcdMember]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., legacy_members: _Optional[_Iterable[str]] = ..., members: _Optional[_Iterable[_Union[EtcdMember, _Mapping]]] = ...) -> None: ...

class EtcdMemberListResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdMembers]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdMembers, _Mapping]]] = ...) -> None: ...

class EtcdRemoveMemberByIDRequest(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    def __init__(self, member_id: _Optional[int] = ...) -> None: ...

class EtcdRemoveMemberByID(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class EtcdRemoveMemberByIDResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdRemoveMemberByID]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdRemoveMemberByID, _Mapping]]] = ...) -> None: ...

class EtcdLeaveClusterRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EtcdLeaveCluster(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class EtcdLeaveClusterResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdLeaveCluster]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdLeaveCluster, _Mapping]]] = ...) -> None: ...

class EtcdForfeitLeadershipRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EtcdForfeitLeadership(_message.Message):
    __slots__ = ("metadata", "member")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    member: str
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., member: _Optional[str] = ...) -> None: ...

class EtcdForfeitLeadershipResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdForfeitLeadership]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdForfeitLeadership, _Mapping]]] = ...) -> None: ...

class EtcdSnapshotRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EtcdRecover(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class EtcdRecoverResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdRecover]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdRecover, _Mapping]]] = ...) -> None: ...

class EtcdMemberAlarm(_message.Message):
    __slots__ = ("member_id", "alarm")
    class AlarmType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NONE: _ClassVar[EtcdMemberAlarm.AlarmType]
        NOSPACE: _ClassVar[EtcdMemberAlarm.AlarmType]
        CORRUPT: _ClassVar[EtcdMemberAlarm.AlarmType]
    NONE: EtcdMemberAlarm.AlarmType
    NOSPACE: EtcdMemberAlarm.AlarmType
    CORRUPT: EtcdMemberAlarm.AlarmType
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    ALARM_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    alarm: EtcdMemberAlarm.AlarmType
    def __init__(self, member_id: _Optional[int] = ..., alarm: _Optional[_Union[EtcdMemberAlarm.AlarmType, str]] = ...) -> None: ...

class EtcdAlarm(_message.Message):
    __slots__ = ("metadata", "member_alarms")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ALARMS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    member_alarms: _containers.RepeatedCompositeFieldContainer[EtcdMemberAlarm]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., member_alarms: _Optional[_Iterable[_Union[EtcdMemberAlarm, _Mapping]]] = ...) -> None: ...

class EtcdAlarmListResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdAlarm]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdAlarm, _Mapping]]] = ...) -> None: ...

class EtcdAlarmDisarm(_message.Message):
    __slots__ = ("metadata", "member_alarms")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ALARMS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    member_alarms: _containers.RepeatedCompositeFieldContainer[EtcdMemberAlarm]
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., member_alarms: _Optional[_Iterable[_Union[EtcdMemberAlarm, _Mapping]]] = ...) -> None: ...

class EtcdAlarmDisarmResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdAlarmDisarm]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdAlarmDisarm, _Mapping]]] = ...) -> None: ...

class EtcdDefragment(_message.Message):
    __slots__ = ("metadata",)
    METADATA_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ...) -> None: ...

class EtcdDefragmentResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdDefragment]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdDefragment, _Mapping]]] = ...) -> None: ...

class EtcdMemberStatus(_message.Message):
    __slots__ = ("storage_version", "member_id", "protocol_version", "db_size", "db_size_in_use", "leader", "raft_index", "raft_term", "raft_applied_index", "errors", "is_learner")
    STORAGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    DB_SIZE_FIELD_NUMBER: _ClassVar[int]
    DB_SIZE_IN_USE_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    RAFT_INDEX_FIELD_NUMBER: _ClassVar[int]
    RAFT_TERM_FIELD_NUMBER: _ClassVar[int]
    RAFT_APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    IS_LEARNER_FIELD_NUMBER: _ClassVar[int]
    storage_version: str
    member_id: int
    protocol_version: str
    db_size: int
    db_size_in_use: int
    leader: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    errors: _containers.RepeatedScalarFieldContainer[str]
    is_learner: bool
    def __init__(self, storage_version: _Optional[str] = ..., member_id: _Optional[int] = ..., protocol_version: _Optional[str] = ..., db_size: _Optional[int] = ..., db_size_in_use: _Optional[int] = ..., leader: _Optional[int] = ..., raft_index: _Optional[int] = ..., raft_term: _Optional[int] = ..., raft_applied_index: _Optional[int] = ..., errors: _Optional[_Iterable[str]] = ..., is_learner: _Optional[bool] = ...) -> None: ...

class EtcdStatus(_message.Message):
    __slots__ = ("metadata", "member_status")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    MEMBER_STATUS_FIELD_NUMBER: _ClassVar[int]
    metadata: _common_pb2.Metadata
    member_status: EtcdMemberStatus
    def __init__(self, metadata: _Optional[_Union[_common_pb2.Metadata, _Mapping]] = ..., member_status: _Optional[_Union[EtcdMemberStatus, _Mapping]] = ...) -> None: ...

class EtcdStatusResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[EtcdStatus]
    def __init__(self, messages: _Optional[_Iterable[_Union[EtcdStatus, _Mapping]]] = ...) -> None: ...
