"""Machines for the provider `metal`: real Talos nodes on a network of their own."""

from __future__ import annotations

from tests.real.talos.fixtures import talos_lab, talos_nodes

__all__ = ["talos_lab", "talos_nodes"]
