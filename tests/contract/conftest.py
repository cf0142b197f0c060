"""The two worlds that every contract runs in: the lab's nodes, and real Talos nodes."""

from __future__ import annotations

from tests.contract.worlds import bundle, world
from tests.real.talos.fixtures import talos_lab, talos_nodes

__all__ = ["bundle", "talos_lab", "talos_nodes", "world"]
