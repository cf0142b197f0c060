# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n)talosmith/talos/proto/machine_files.proto\x12\x07machine\x1a\"talosmith/talos/proto/common.proto\" \n\x0b\x43opyRequest\x12\x11\n\troot_path\x18\x01 \x01(\t\"\x1b\n\x0bReadRequest\x12\x0c\n\x04path\x18\x01 \x01(\t\"\xb7\x01\n\x0bListRequest\x12\x0c\n\x04root\x18\x01 \x01(\t\x12\x0f\n\x07recurse\x18\x02 \x01(\x08\x12\x17\n\x0frecursion_depth\x18\x03 \x01(\x05\x12(\n\x05types\x18\x04 \x03(\x0e\x32\x19.machine.ListRequest.Type\x12\x15\n\rreport_xattrs\x18\x05 \x01(\x08\"/\n\x04Type\x12\x0b\n\x07REGULAR\x10\x00\x12\r\n\tDIRECTORY\x10\x01\x12\x0b\n\x07SYMLINK\x10\x02\"#\n\x05Xattr\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\x0c\n\x04\x64\x61ta\x18\x02 \x01(\x0c\"\xe8\x01\n\x08\x46ileInfo\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0c\n\x04name\x18\x02 \x01(\t\x12\x0c\n\x04size\x18\x03 \x01(\x03\x12\x0c\n\x04mode\x18\x04 \x01(\r\x12\x10\n\x08modified\x18\x05 \x01(\x03\x12\x0e\n\x06is_dir\x18\x06 \x01(\x08\x12\r\n\x05\x65rror\x18\x07 \x01(\t\x12\x0c\n\x04link\x18\x08 \x01(\t\x12\x15\n\rrelative_name\x18\t \x01(\t\x12\x0b\n\x03uid\x18\n \x01(\r\x12\x0b\n\x03gid\x18\x0b \x01(\r\x12\x1e\n\x06xattrs\x18\x0c \x03(\x0b\x32\x0e.machine.Xattr\"Z\n\x10\x44iskUsageRequest\x12\x17\n\x0frecursion_depth\x18\x01 \x01(\x05\x12\x0b\n\x03\x61ll\x18\x02 \x01(\x08\x12\x11\n\tthreshold\x18\x03 \x01(\x03\x12\r\n\x05paths\x18\x04 \x03(\t\"u\n\rDiskUsageInfo\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x0c\n\x04name\x18\x02 \x01(\t\x12\x0c\n\x04size\x18\x03 \x01(\x03\x12\r\n\x05\x65rror\x18\x04 \x01(\t\x12\x15\n\rrelative_name\x18\x05 \x01(\t\"T\n\tMountStat\x12\x12\n\nfilesystem\x18\x01 \x01(\t\x12\x0c\n\x04size\x18\x02 \x01(\x04\x12\x11\n\tavailable\x18\x03 \x01(\x04\x12\x12\n\nmounted_on\x18\x04 \x01(\t\"O\n\x06Mounts\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12!\n\x05stats\x18\x02 \x03(\x0b\x32\x12.machine.MountStat\"3\n\x0eMountsResponse\x12!\n\x08messages\x18\x01 \x03(\x0b\x32\x0f.machine.Mountsb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.machine_files_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
