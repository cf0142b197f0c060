# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import any_pb2 as google_dot_protobuf_dot_any__pb2
from talosmith.talos.proto import status_pb2 as talosmith_dot_talos_dot_proto_dot_status__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"talosmith/talos/proto/common.proto\x12\x06\x63ommon\x1a\x19google/protobuf/any.proto\x1a\"talosmith/talos/proto/status.proto\"[\n\x05\x45rror\x12\x1a\n\x04\x63ode\x18\x01 \x01(\x0e\x32\x0c.common.Code\x12\x0f\n\x07message\x18\x02 \x01(\t\x12%\n\x07\x64\x65tails\x18\x03 \x03(\x0b\x32\x14.google.protobuf.Any\"R\n\x08Metadata\x12\x10\n\x08hostname\x18\x01 \x01(\t\x12\r\n\x05\x65rror\x18\x02 \x01(\t\x12%\n\x06status\x18\x03 \x01(\x0b\x32\x15.talosmith.rpc.Status\"9\n\x04\x44\x61ta\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\r\n\x05\x62ytes\x18\x02 \x01(\x0c\"m\n\x12\x43ontainerdInstance\x12\'\n\x06\x64river\x18\x01 \x01(\x0e\x32\x17.common.ContainerDriver\x12.\n\tnamespace\x18\x02 \x01(\x0e\x32\x1b.common.ContainerdNamespace**\n\x0f\x43ontainerDriver\x12\x0e\n\nCONTAINERD\x10\x00\x12\x07\n\x03\x43RI\x10\x01*X\n\x13\x43ontainerdNamespace\x12\x0e\n\nNS_UNKNOWN\x10\x00\x12\r\n\tNS_SYSTEM\x10\x01\x12\n\n\x06NS_CRI\x10\x02\x12\x16\n\x12NS_TALOSCONTAINERS\x10\x03*+\n\x04\x43ode\x12\t\n\x05\x46\x41TAL\x10\x00\x12\n\n\x06LOCKED\x10\x01\x12\x0c\n\x08\x43\x41NCELED\x10\x02\x62\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.common_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
