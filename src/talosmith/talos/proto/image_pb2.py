# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf.internal import builder as _builder
from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import empty_pb2 as google_dot_protobuf_dot_empty__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from talosmith.talos.proto import common_pb2 as talosmith_dot_talos_dot_proto_dot_common__pb2
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n!talosmith/talos/proto/image.proto\x12\x07machine\x1a\x1egoogle/protobuf/duration.proto\x1a\x1bgoogle/protobuf/empty.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"talosmith/talos/proto/common.proto\"I\n\x17ImageServiceListRequest\x12.\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstance\"\xe4\x01\n\x18ImageServiceListResponse\x12\x0c\n\x04name\x18\x01 \x01(\t\x12\x0e\n\x06\x64igest\x18\x02 \x01(\t\x12\x0c\n\x04size\x18\x03 \x01(\x03\x12.\n\ncreated_at\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.Timestamp\x12=\n\x06labels\x18\x05 \x03(\x0b\x32-.machine.ImageServiceListResponse.LabelsEntry\x1a-\n\x0bLabelsEntry\x12\x0b\n\x03key\x18\x01 \x01(\t\x12\r\n\x05value\x18\x02 \x01(\t:\x02\x38\x01\"\\\n\x17ImageServicePullRequest\x12.\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstance\x12\x11\n\timage_ref\x18\x03 \x01(\t\"r\n\x18ImageServicePullResponse\x12\x0e\n\x04name\x18\x01 \x01(\tH\x00\x12:\n\rpull_progress\x18\x02 \x01(\x0b\x32!.machine.ImageServicePullProgressH\x00\x42\n\n\x08response\"f\n\x18ImageServicePullProgress\x12\x10\n\x08layer_id\x18\x01 \x01(\t\x12\x38\n\x08progress\x18\x02 \x01(\x0b\x32&.machine.ImageServicePullLayerProgress\"\x95\x02\n\x1dImageServicePullLayerProgress\x12=\n\x06status\x18\x01 \x01(\x0e\x32-.machine.ImageServicePullLayerProgress.Status\x12*\n\x07\x65lapsed\x18\x02 \x01(\x0b\x32\x19.google.protobuf.Duration\x12\x0e\n\x06offset\x18\x03 \x01(\x03\x12\r\n\x05total\x18\x04 \x01(\x03\"j\n\x06Status\x12\x0f\n\x0b\x44OWNLOADING\x10\x00\x12\x15\n\x11\x44OWNLOAD_COMPLETE\x10\x01\x12\x0e\n\nEXTRACTING\x10\x02\x12\x14\n\x10\x45XTRACT_COMPLETE\x10\x03\x12\x12\n\x0e\x41LREADY_EXISTS\x10\x04\"}\n\x19ImageServiceImportRequest\x12\x30\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstanceH\x00\x12#\n\x0bimage_chunk\x18\x02 \x01(\x0b\x32\x0c.common.DataH\x00\x42\t\n\x07request\"*\n\x1aImageServiceImportResponse\x12\x0c\n\x04name\x18\x01 \x01(\t\"^\n\x19ImageServiceRemoveRequest\x12.\n\ncontainerd\x18\x01 \x01(\x0b\x32\x1a.common.ContainerdInstance\x12\x11\n\timage_ref\x18\x02 \x01(\t2\xc7\x02\n\x0cImageService\x12M\n\x04List\x12 .machine.ImageServiceListRequest\x1a!.machine.ImageServiceListResponse0\x01\x12M\n\x04Pull\x12 .machine.ImageServicePullRequest\x1a!.machine.ImageServicePullResponse0\x01\x12S\n\x06Import\x12\".machine.ImageServiceImportRequest\x1a#.machine.ImageServiceImportResponse(\x01\x12\x44\n\x06Remove\x12\".machine.ImageServiceRemoveRequest\x1a\x16.google.protobuf.Emptyb\x06proto3')
_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'talosmith.talos.proto.image_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  DESCRIPTOR._loaded_options = None
  _globals['_IMAGESERVICELISTRESPONSE_LABELSENTRY']._loaded_options = None
  _globals['_IMAGESERVICELISTRESPONSE_LABELSENTRY']._serialized_options = b'8\001'
