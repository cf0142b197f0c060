from __future__ import annotations

from pathlib import Path

from talosmith.talos.proto import common_pb2, machine_pb2, services
from tools.protos import committed, make


def test_the_generated_code_is_that_of_the_proto_files(tmp_path: Path) -> None:
    fresh, ours = make(tmp_path), committed()
    assert sorted(fresh) == sorted(ours)
    stale = [name for name, text in fresh.items() if ours[name] != text]
    assert not stale, "run: python -m tools.protos"


def test_the_services_have_the_names_that_nodes_know() -> None:
    table = services.MachineServiceStub(None)  # type: ignore[arg-type]
    assert table.Version.name == "/machine.MachineService/Version"
    assert services.StateStub(None).Watch.name == "/cosi.resource.State/Watch"  # type: ignore[arg-type]
    assert services.TimeServiceStub(None).Time.name == "/time.TimeService/Time"  # type: ignore[arg-type]
    assert machine_pb2.SequenceEvent.DESCRIPTOR.full_name == "machine.SequenceEvent"  # it travels by this name


def test_a_status_inside_a_message_reads_what_a_node_writes() -> None:
    """Bytes by hand: hostname 1, error 2, status 3 with code 1 and message 2."""
    status = b"\x08\x0e" + b"\x12\x04gone"
    wire = b"\x0a\x04cp-1" + b"\x12\x05wrong" + b"\x1a" + bytes([len(status)]) + status
    read = common_pb2.Metadata.FromString(wire)
    assert (read.hostname, read.error, read.status.code, read.status.message) == ("cp-1", "wrong", 14, "gone")
