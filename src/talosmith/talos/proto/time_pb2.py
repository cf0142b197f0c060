# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import empty_pb2 as google_dot_protobuf_dot_empty__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n talosmith/talos/proto/time.proto\x12\x04time\x1a\x1bgoogle/protobuf/empty.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"talosmith/talos/proto/common.proto\"\x1d\n\x0bTimeRequest\x12\x0e\n\x06server\x18\x01 \x01(\t\"\x99\x01\n\x04Time\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0e\n\x06server\x18\x02 \x01(\t\x12-\n\tlocaltime\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.Timestamp\x12.\n\nremotetime\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.Timestamp\",\n\x0cTimeResponse\x12\x1c\n\x08messages\x18\x01 \x03(\x0b\x32\n.time.Time2u\n\x0bTimeService\x12\x32\n\x04Time\x12\x16.google.protobuf.Empty\x1a\x12.time.TimeResponse\x12\x32\n\tTimeCheck\x12\x11.time.TimeRequest\x1a\x12.time.TimeResponseb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.time_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
