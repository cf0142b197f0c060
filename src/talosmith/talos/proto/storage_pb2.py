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
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n#talosmith/talos/proto/storage.proto\x12\x07storage\x1a\x1bgoogle/protobuf/empty.proto\x1a\"talosmith/talos/proto/common.proto\"\xbb\x02\n\x04\x44isk\x12\x0c\n\x04size\x18\x01 \x01(\x04\x12\r\n\x05model\x18\x02 \x01(\t\x12\x13\n\x0b\x64\x65vice_name\x18\x03 \x01(\t\x12\x0c\n\x04name\x18\x04 \x01(\t\x12\x0e\n\x06serial\x18\x05 \x01(\t\x12\x10\n\x08modalias\x18\x06 \x01(\t\x12\x0c\n\x04uuid\x18\x07 \x01(\t\x12\x0c\n\x04wwid\x18\x08 \x01(\t\x12$\n\x04type\x18\t \x01(\x0e\x32\x16.storage.Disk.DiskType\x12\x10\n\x08\x62us_path\x18\n \x01(\t\x12\x13\n\x0bsystem_disk\x18\x0b \x01(\x08\x12\x11\n\tsubsystem\x18\x0c \x01(\t\x12\x10\n\x08readonly\x18\r \x01(\x08\"C\n\x08\x44iskType\x12\x0b\n\x07UNKNOWN\x10\x00\x12\x07\n\x03SSD\x10\x01\x12\x07\n\x03HDD\x10\x02\x12\x08\n\x04NVME\x10\x03\x12\x06\n\x02SD\x10\x04\x12\x06\n\x02\x43\x44\x10\x05\"I\n\x05\x44isks\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x1c\n\x05\x64isks\x18\x02 \x03(\x0b\x32\r.storage.Disk\"1\n\rDisksResponse\x12 \n\x08messages\x18\x01 \x03(\x0b\x32\x0e.storage.Disks\"M\n\x16\x42lockDeviceWipeRequest\x12\x33\n\x07\x64\x65vices\x18\x01 \x03(\x0b\x32\".storage.BlockDeviceWipeDescriptor\"\xd7\x01\n\x19\x42lockDeviceWipeDescriptor\x12\x0e\n\x06\x64\x65vice\x18\x01 \x01(\t\x12\x39\n\x06method\x18\x02 \x01(\x0e\x32).storage.BlockDeviceWipeDescriptor.Method\x12\x19\n\x11skip_volume_check\x18\x03 \x01(\x08\x12\x1c\n\x14skip_secondary_check\x18\x05 \x01(\x08\x12\x16\n\x0e\x64rop_partition\x18\x04 \x01(\x08\"\x1e\n\x06Method\x12\x08\n\x04\x46\x41ST\x10\x00\x12\n\n\x06ZEROES\x10\x01\"E\n\x17\x42lockDeviceWipeResponse\x12*\n\x08messages\x18\x01 \x03(\x0b\x32\x18.storage.BlockDeviceWipe\"5\n\x0f\x42lockDeviceWipe\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata2\x9f\x01\n\x0eStorageService\x12\x37\n\x05\x44isks\x12\x16.google.protobuf.Empty\x1a\x16.storage.DisksResponse\x12T\n\x0f\x42lockDeviceWipe\x12\x1f.storage.BlockDeviceWipeRequest\x1a .storage.BlockDeviceWipeResponseb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.storage_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
