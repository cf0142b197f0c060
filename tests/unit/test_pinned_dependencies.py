"""What is used from inside of other people's libraries: pinned exactly, and still as our code takes it to be.

docs/decisions/0021-pinned-dependencies.md names the test for each; those of behaviour over a connection stand in
tests/unit/talos.
"""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import pytest
from grpclib.client import Handler
from grpclib.config import Configuration
from grpclib.protocol import H2Protocol
from h2.config import H2Configuration
from h2.connection import H2Connection
from hyperframe.frame import GoAwayFrame

from talosmith.helm.go_text import printf
from talosmith.helm.parsing import parse
from talosmith.talos.grpc.call import Call
from talosmith.talos.grpc.http2 import NodeProtocol, _Processor

ROOT = Path(__file__).parents[2]
# Methods that replace those of grpclib: a renamed one would never be called.
INSIDE = {
    NodeProtocol: ("connection_made", "connection_lost", "data_received"),
    _Processor: ("process", "process_remote_settings_changed", "register", "close"),
    Call: ("_maybe_finish", "_raise_for_status", "_raise_for_content_type", "_process_grpc_status", "recv_message"),
}
PINNED = ("gotpl", "grpclib", "h2", "hyperframe")


@pytest.mark.parametrize("library", PINNED)
def test_what_is_used_from_inside_is_pinned(library: str) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = [one for one in wanted if re.match(rf"{library}\b", one)]
    assert [re.sub(r"\[.*?\]", "", one) for one in pins] == [f"{library}=={version(library)}"]
    assert pins[0].replace("[crypto]", "") in (ROOT / "constraints.txt").read_text().splitlines()
    assert f"| {library} {version(library)} |" in (ROOT / "docs/decisions/0021-pinned-dependencies.md").read_text()


def test_h2_looks_frames_up_where_we_exchange_one() -> None:
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    seen = []
    connection._frame_dispatch_table[GoAwayFrame] = lambda frame: (seen.append(frame.last_stream_id), ([], []))[1]
    settings = bytes.fromhex("000000040000000000")
    connection.receive_data(settings + GoAwayFrame(0, last_stream_id=7).serialize())
    assert seen == [7]


def test_h2_keeps_what_waits_for_the_rest_of_its_frame_where_we_look() -> None:
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.receive_data(bytes.fromhex("000000040000000000") + b"\x00\x40\x00\x00")
    assert bytes(connection.incoming_buffer._data[:3]) == b"\x00\x40\x00"
    assert connection.incoming_buffer.max_frame_size == 2**14


def test_grpclib_builds_a_connection_of_the_parts_that_we_exchange() -> None:
    protocol = H2Protocol(Handler(), Configuration().__for_test__(), H2Configuration(client_side=True))
    protocol.connection_made(Mock())
    assert isinstance(protocol.connection._connection, H2Connection)
    assert protocol.processor.streams == {} and protocol.processor.processors
    stream = protocol.connection.create_stream(stream_id=1)
    assert stream.wrapper is None and stream.buffer._eof is False and stream._transport is not None
    for ours, names in INSIDE.items():
        assert [name for name in names if name not in vars(ours) or not hasattr(ours.__base__, name)] == []


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [("%05.1f|%-4s|%x", (3.14159, "ab", 255), "003.1|ab  |ff"), ("%q", ("a\n",), r'"a\n"'), ("%d%%", (7,), "7%")],
)
def test_gotpl_formats_as_go_does(template: str, values: tuple[object, ...], text: str) -> None:
    assert printf(template, *values) == text


def test_gotpls_parser_can_be_extended_by_fields_of_a_function() -> None:
    parsed = parse("a.yaml", "{{ now.Year }}", ["now"])
    (action,) = parsed.root.nodes
    (chain,) = action.pipeline.commands[0].arguments
    assert chain.fields == ("Year",) and chain.pipeline.commands[0].arguments[0].name == "now"


def test_rare_features_cost_nothing_before_they_are_used() -> None:
    rare = "('talosmith.sops.hybrid', 'talosmith.desired.config.cel.parse', 'lightkube', 'gotpl')"
    code = f"import sys, talosmith.session, talosmith.cli.plan; print([one for one in {rare} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
