"""What tests of charts share."""

from __future__ import annotations

from tests.unit.helm.conftest import client, server, store, waits

__all__ = ["client", "server", "store", "waits"]
