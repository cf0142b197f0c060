# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import empty_pb2 as google_dot_protobuf_dot_empty__pb2
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n#talosmith/talos/proto/inspect.proto\x12\x07inspect\x1a\x1bgoogle/protobuf/empty.proto\x1a\"talosmith/talos/proto/common.proto\"_\n%ControllerRuntimeDependenciesResponse\x12\x36\n\x08messages\x18\x01 \x03(\x0b\x32$.inspect.ControllerRuntimeDependency\"s\n\x1b\x43ontrollerRuntimeDependency\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x30\n\x05\x65\x64ges\x18\x02 \x03(\x0b\x32!.inspect.ControllerDependencyEdge\"\xab\x01\n\x18\x43ontrollerDependencyEdge\x12\x17\n\x0f\x63ontroller_name\x18\x01 \x01(\t\x12.\n\tedge_type\x18\x02 \x01(\x0e\x32\x1b.inspect.DependencyEdgeType\x12\x1a\n\x12resource_namespace\x18\x03 \x01(\t\x12\x15\n\rresource_type\x18\x04 \x01(\t\x12\x13\n\x0bresource_id\x18\x05 \x01(\t*x\n\x12\x44\x65pendencyEdgeType\x12\x14\n\x10OUTPUT_EXCLUSIVE\x10\x00\x12\x11\n\rOUTPUT_SHARED\x10\x03\x12\x10\n\x0cINPUT_STRONG\x10\x01\x12\x0e\n\nINPUT_WEAK\x10\x02\x12\x17\n\x13INPUT_DESTROY_READY\x10\x04\x32y\n\x0eInspectService\x12g\n\x1d\x43ontrollerRuntimeDependencies\x12\x16.google.protobuf.Empty\x1a..inspect.ControllerRuntimeDependenciesResponseb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.inspect_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
