"""Our request headers are read by hpack as what its own encoder writes, also after a node changes the table."""

from __future__ import annotations

from hpack import Decoder, Encoder, HeaderTuple

from talosmith.talos.grpc.headers import LiteralEncoder

HEADERS = [
    (b":method", b"POST"),
    (":path", "/machine.MachineService/Version"),
    HeaderTuple(b"grpc-timeout", b"1500m"),
    (b"node", "é".encode()),
    (b"empty", b""),
    (b"long", b"x" * 5000),
]


def _read(block: bytes, decoder: Decoder) -> list[tuple[bytes, bytes]]:
    return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]


def test_headers_are_read_as_they_were_given() -> None:
    ours, theirs = LiteralEncoder(), Encoder()
    expected = _read(theirs.encode(HEADERS), Decoder(max_header_list_size=2**20))
    assert _read(ours.encode(HEADERS), Decoder(max_header_list_size=2**20)) == expected


def test_the_same_bytes_do_for_every_connection_and_every_call() -> None:
    first, second = LiteralEncoder(), LiteralEncoder()
    assert first.encode(HEADERS) == first.encode(HEADERS) == second.encode(HEADERS)


def test_a_table_that_the_node_makes_smaller_is_acknowledged() -> None:
    encoder, decoder = LiteralEncoder(), Decoder(max_header_list_size=2**20)
    encoder.header_table_size = 0
    decoder.max_allowed_table_size = 0
    assert _read(encoder.encode(HEADERS[:1]), decoder) == [(b":method", b"POST")]
    assert encoder.encode(HEADERS[:1]) == LiteralEncoder().encode(HEADERS[:1])
