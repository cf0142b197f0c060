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
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n*talosmith/talos/proto/machine_config.proto\x12\x07machine\x1a\x1egoogle/protobuf/duration.proto\x1a\"talosmith/talos/proto/common.proto\"\xe8\x01\n\x19\x41pplyConfigurationRequest\x12\x0c\n\x04\x64\x61ta\x18\x01 \x01(\x0c\x12\x35\n\x04mode\x18\x04 \x01(\x0e\x32\'.machine.ApplyConfigurationRequest.Mode\x12\x0f\n\x07\x64ry_run\x18\x05 \x01(\x08\x12\x33\n\x10try_mode_timeout\x18\x06 \x01(\x0b\x32\x19.google.protobuf.Duration\"@\n\x04Mode\x12\n\n\x06REBOOT\x10\x00\x12\x08\n\x04\x41UTO\x10\x01\x12\r\n\tNO_REBOOT\x10\x02\x12\n\n\x06STAGED\x10\x03\x12\x07\n\x03TRY\x10\x04\"\x97\x01\n\x12\x41pplyConfiguration\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\x10\n\x08warnings\x18\x02 \x03(\t\x12\x35\n\x04mode\x18\x03 \x01(\x0e\x32\'.machine.ApplyConfigurationRequest.Mode\x12\x14\n\x0cmode_details\x18\x04 \x01(\t\"K\n\x1a\x41pplyConfigurationResponse\x12-\n\x08messages\x18\x01 \x03(\x0b\x32\x1b.machine.ApplyConfiguration\"I\n\x10\x42ootstrapRequest\x12\x14\n\x0crecover_etcd\x18\x01 \x01(\x08\x12\x1f\n\x17recover_skip_hash_check\x18\x02 \x01(\x08\"/\n\tBootstrap\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\"9\n\x11\x42ootstrapResponse\x12$\n\x08messages\x18\x01 \x03(\x0b\x32\x12.machine.Bootstrap\"_\n\"GenerateClientConfigurationRequest\x12\r\n\x05roles\x18\x01 \x03(\t\x12*\n\x07\x63rt_ttl\x18\x02 \x01(\x0b\x32\x19.google.protobuf.Duration\"|\n\x1bGenerateClientConfiguration\x12\"\n\x08metadata\x18\x01 \x01(\x0b\x32\x10.common.Metadata\x12\n\n\x02\x63\x61\x18\x02 \x01(\x0c\x12\x0b\n\x03\x63rt\x18\x03 \x01(\x0c\x12\x0b\n\x03key\x18\x04 \x01(\x0c\x12\x13\n\x0btalosconfig\x18\x05 \x01(\x0c\"]\n#GenerateClientConfigurationResponse\x12\x36\n\x08messages\x18\x01 \x03(\x0b\x32$.machine.GenerateClientConfigurationb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.machine_config_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
