"""A port for a program of ours that shares it: no other process takes it before the program listens."""

from __future__ import annotations

import socket


def held_port() -> socket.socket:
    """Bound, for as long as it is open; the program must be told to share its port (SO_REUSEPORT)."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind(("127.0.0.1", 0))
    return one
