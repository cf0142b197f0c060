"""Counts what a client asks of libvirtd: a proxy before its socket that reads the head of each message.

Every message of libvirt's protocol begins with its length, its own four bytes among them, and six more numbers. All
is passed on as it came, so the client and the daemon need not know; which client it is makes no difference.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_HEAD = struct.Struct(">7I")
_CHUNK = 256 * 1024
_CALL, _CALL_WITH_FILES = 0, 4  # kinds of messages; the others are answers, events, parts of streams
_KEEPALIVE = 0x6B656570  # signs of life are no questions


@dataclass(frozen=True, slots=True)
class Head:
    length: int
    program: int
    version: int
    procedure: int
    kind: int
    serial: int
    status: int

    @property
    def is_call(self) -> bool:
        return self.kind in (_CALL, _CALL_WITH_FILES) and self.program != _KEEPALIVE


@dataclass(slots=True)
class Heads:
    """Of what one side sends, however it comes in parts."""

    _begun: bytearray = field(default_factory=bytearray)
    _body: int = 0  # bytes that are still to come before the next head

    def feed(self, part: bytes) -> Iterator[Head]:
        at = 0
        while at < len(part):
            if self._body:
                passed = min(self._body, len(part) - at)
                self._body -= passed
            else:
                passed = min(_HEAD.size - len(self._begun), len(part) - at)
                self._begun += part[at : at + passed]
            at += passed
            if len(self._begun) == _HEAD.size:
                head = Head(*_HEAD.unpack(self._begun))
                if head.length < _HEAD.size:
                    raise ValueError(f"a message of {head.length} bytes is not one of libvirt's")
                if head.kind == _CALL_WITH_FILES:
                    raise ValueError("open files come with a call, and they are not passed on here")
                self._begun.clear()
                self._body = head.length - _HEAD.size
                yield head


@dataclass(slots=True)
class Counted:
    calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def see(self, head: Head) -> None:
        if head.is_call:
            with self._lock:
                self.calls += 1


@contextmanager
def counting(daemon: Path, here: Path) -> Iterator[Counted]:
    """Who connects to the socket `here` talks to the one of the daemon."""
    counted = Counted()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(here))
    listening.listen(64)

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:  # it was shut down
                return
            _thread(_pass_on, client, daemon, counted)

    accepting = _thread(serve)
    try:
        yield counted
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        here.unlink()


def _pass_on(client: socket.socket, daemon: Path, counted: Counted) -> None:
    with client, socket.socket(socket.AF_UNIX) as server:
        server.connect(str(daemon))
        heads = Heads()

        def look(part: bytes) -> None:
            for head in heads.feed(part):
                counted.see(head)

        answers = _thread(_pour, server, client, lambda part: None)
        _pour(client, server, look)
        answers.join()


def _pour(source: socket.socket, target: socket.socket, seen: Callable[[bytes], None]) -> None:
    """A message is counted before it is passed on: who has the answer finds the question counted."""
    try:
        while part := source.recv(_CHUNK):
            seen(part)
            target.sendall(part)
    except OSError:  # one of the two is gone
        pass
    finally:
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _thread(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name="counting", daemon=True)
    thread.start()
    return thread
