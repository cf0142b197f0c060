"""Every test in this folder may use real nodes."""

from __future__ import annotations

from tests.real.talos.fixtures import talos_cluster, talos_lab, talos_nodes

__all__ = ["talos_cluster", "talos_lab", "talos_nodes"]
