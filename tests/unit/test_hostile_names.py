"""Nothing of a user's becomes a command, an option or a path. Ruff (S602 to S605) checks that no shell is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.inventory import check

INVENTORY = """\
cluster_name: dev
talos_version: v1.13.9
kubernetes_version: v1.36.3
network: {node_cidr: 10.0.0.0/24}
libvirt: {}
controlplane: 1
workers: 1
"""
HOSTILE = {
    "substitution": "$(touch made)",
    "backticks": "`touch made`",
    "semicolon": "a; touch made",
    "pipe": "a|touch made",
    "newline": "a\ntouch made",
    "option": "-oProxyCommand=touch",
    "blank": "a b",
    "quote": "a'b",
    "path": "../../made",
    "nul": "a\0b",
}


@pytest.mark.parametrize("place", ["cluster", "node", "prefix", "host"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_name_that_would_be_more_than_a_name_is_refused(kind: str, place: str, tmp_path: Path) -> None:
    name = HOSTILE[kind]
    quoted = '"' + name.replace("\n", "\\n").replace("\0", "\\0") + '"'
    text = {
        "cluster": INVENTORY.replace("cluster_name: dev", f"cluster_name: {quoted}"),
        "node": INVENTORY.replace("workers: 1", f"workers: [{{name: {quoted}, ip: 10.0.0.50}}]"),
        "prefix": INVENTORY.replace("workers: 1", f"workers: {{count: 1, name_prefix: {quoted}}}"),
        "host": INVENTORY.replace("node_cidr: 10.0.0.0/24", f"node_cidr: 10.0.0.0/24, endpoint: {quoted}"),
    }[place]
    (tmp_path / "cluster.yaml").write_text(INVENTORY)
    assert check(tmp_path).valid, "it is the name that is wrong, and nothing else"
    (tmp_path / "cluster.yaml").write_text(text)
    assert not check(tmp_path).valid
    assert run(["validate", "-i", str(tmp_path)]) == 65
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.yaml"]
