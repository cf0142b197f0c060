"""Clusters out of a few lines of inventory."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_clusters import Make

from talosmith import Cluster, load


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def from_text(text: str, talos: str = "v1.13.9", kubernetes: str = "v1.33.0", **patches: str) -> Cluster:
        header = f"cluster_name: dev\ntalos_version: {talos}\nkubernetes_version: {kubernetes}\n"
        (tmp_path / "cluster.yaml").write_text(header + text)
        for name, content in patches.items():
            path = tmp_path / "patches" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".yaml").write_text(content)
        return load(tmp_path)

    return from_text
