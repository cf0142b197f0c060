# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n#talosmith/talos/proto/cluster.proto\x12\x07\x63luster\x1a\x1egoogle/protobuf/duration.proto\x1a\"talosmith/talos/proto/common.proto\"q\n\x12HealthCheckRequest\x12/\n\x0cwait_timeout\x18\x01 \x01(\x0b\x32\x19.google.protobuf.Duration\x12*\n\x0c\x63luster_info\x18\x02 \x01(\x0b\x32\x14.cluster.ClusterInfo\"X\n\x0b\x43lusterInfo\x12\x1b\n\x13\x63ontrol_plane_nodes\x18\x01 \x03(\t\x12\x14\n\x0cworker_nodes\x18\x02 \x03(\t\x12\x16\n\x0e\x66orce_endpoint\x18\x03 \x01(\t\"J\n\x13HealthCheckProgress\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0f\n\x07message\x18\x02 \x01(\t2\\\n\x0e\x43lusterService\x12J\n\x0bHealthCheck\x12\x1b.cluster.HealthCheckRequest\x1a\x1c.cluster.HealthCheckProgress0\x01\x62\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.cluster_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
