"""The heads of libvirt's messages are found in what is sent, however it is cut into parts."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rpc import Head, Heads

REMOTE, KEEPALIVE = 0x20008086, 0x6B656570
CALL, REPLY, EVENT, STREAM, CALL_WITH_FILES = 0, 1, 2, 3, 4


def message(procedure: int, kind: int, body: bytes = b"", program: int = REMOTE) -> bytes:
    return struct.pack(">7I", 28 + len(body), program, 1, procedure, kind, 7, 0) + body


bodies = st.binary(max_size=80)
messages = st.lists(
    st.builds(message, st.integers(1, 450), st.sampled_from([CALL, STREAM, EVENT]), bodies), max_size=8
)


@given(messages, st.lists(st.integers(1, 60), min_size=1))
def test_every_message_is_found_once(sent: list[bytes], sizes: list[int]) -> None:
    stream, heads, found = b"".join(sent), Heads(), list[Head]()
    at = number = 0
    while at < len(stream):
        size = sizes[number % len(sizes)]
        found += heads.feed(stream[at : at + size])
        at, number = at + size, number + 1
    assert [(one.length, one.procedure, one.kind) for one in found] == [
        struct.unpack(">I8xII", one[:20]) for one in sent
    ]


def test_only_questions_are_calls() -> None:
    kinds = [message(1, kind, b"body") for kind in (CALL, REPLY, EVENT, STREAM)]
    signs_of_life = message(1, EVENT, program=KEEPALIVE), message(1, CALL, program=KEEPALIVE)
    found = list(Heads().feed(b"".join([*kinds, *signs_of_life])))
    assert [one.is_call for one in found] == [True, False, False, False, False, False]


def test_what_is_not_libvirts_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of libvirt's"):
        list(Heads().feed(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n".replace(b"GET ", b"\0\0\0\x05")))
    with pytest.raises(ValueError, match="files"):
        list(Heads().feed(message(1, CALL_WITH_FILES)))
