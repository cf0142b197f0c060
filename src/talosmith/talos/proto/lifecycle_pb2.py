# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n%talosmith/talos/proto/lifecycle.proto\x12\x07machine\x1a\"talosmith/talos/proto/common.proto\",\n\x16InstallArtifactsSource\x12\x12\n\nimage_name\x18\x01 \x01(\t\"\"\n\x12InstallDestination\x12\x0c\n\x04\x64isk\x18\x01 \x01(\t\"\xb3\x01\n\x1eLifecycleServiceInstallRequest\x12.\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstance\x12/\n\x06source\x18\x02 \x01(\x0b\x32\x1f.machine.InstallArtifactsSource\x12\x30\n\x0b\x64\x65stination\x18\x03 \x01(\x0b\x32\x1b.machine.InstallDestination\"U\n\x1fLifecycleServiceInstallProgress\x12\x11\n\x07message\x18\x01 \x01(\tH\x00\x12\x13\n\texit_code\x18\x02 \x01(\x05H\x00\x42\n\n\x08response\"]\n\x1fLifecycleServiceInstallResponse\x12:\n\x08progress\x18\x01 \x01(\x0b\x32(.machine.LifecycleServiceInstallProgress\"\x81\x01\n\x1eLifecycleServiceUpgradeRequest\x12.\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstance\x12/\n\x06source\x18\x02 \x01(\x0b\x32\x1f.machine.InstallArtifactsSource\"]\n\x1fLifecycleServiceUpgradeResponse\x12:\n\x08progress\x18\x01 \x01(\x0b\x32(.machine.LifecycleServiceInstallProgress2\xd2\x01\n\x10LifecycleService\x12^\n\x07Install\x12\'.machine.LifecycleServiceInstallRequest\x1a(.machine.LifecycleServiceInstallResponse0\x01\x12^\n\x07Upgrade\x12\'.machine.LifecycleServiceUpgradeRequest\x1a(.machine.LifecycleServiceUpgradeResponse0\x01\x62\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.lifecycle_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
