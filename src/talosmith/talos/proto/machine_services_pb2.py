# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n,talosmith/talos/proto/machine_services.proto\x12\x07machine\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"talosmith/talos/proto/common.proto\"x\n\x0bServiceInfo\x12\n\n\x02id\x18\x01 \x01(\t\x12\r\n\x05state\x18\x02 \x01(\t\x12&\n\x06\x65vents\x18\x03 \x01(\x0b\x32\x16.machine.ServiceEvents\x12&\n\x06health\x18\x04 \x01(\x0b\x32\x16.machine.ServiceHealth\"6\n\rServiceEvents\x12%\n\x06\x65vents\x18\x01 \x03(\x0b\x32\x15.machine.ServiceEvent\"R\n\x0cServiceEvent\x12\x0b\n\x03msg\x18\x01 \x01(\t\x12\r\n\x05state\x18\x02 \x01(\t\x12&\n\x02ts\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.Timestamp\"x\n\rServiceHealth\x12\x0f\n\x07unknown\x18\x01 \x01(\x08\x12\x0f\n\x07healthy\x18\x02 \x01(\x08\x12\x14\n\x0clast_message\x18\x03 \x01(\t\x12/\n\x0blast_change\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.Timestamp\"Y\n\x0bServiceList\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12&\n\x08services\x18\x02 \x03(\x0b\x32\x14.machine.ServiceInfo\"=\n\x13ServiceListResponse\x12&\n\x08messages\x18\x01 \x03(\x0b\x32\x14.machine.ServiceList\"!\n\x13ServiceStartRequest\x12\n\n\x02id\x18\x01 \x01(\t\"@\n\x0cServiceStart\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0c\n\x04resp\x18\x02 \x01(\t\"?\n\x14ServiceStartResponse\x12\'\n\x08messages\x18\x01 \x03(\x0b\x32\x15.machine.ServiceStart\" \n\x12ServiceStopRequest\x12\n\n\x02id\x18\x01 \x01(\t\"?\n\x0bServiceStop\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0c\n\x04resp\x18\x02 \x01(\t\"=\n\x13ServiceStopResponse\x12&\n\x08messages\x18\x01 \x03(\x0b\x32\x14.machine.ServiceStop\"#\n\x15ServiceRestartRequest\x12\n\n\x02id\x18\x01 \x01(\t\"B\n\x0eServiceRestart\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0c\n\x04resp\x18\x02 \x01(\t\"C\n\x16ServiceRestartResponse\x12)\n\x08messages\x18\x01 \x03(\x0b\x32\x17.machine.ServiceRestartb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.machine_services_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
