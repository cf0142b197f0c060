"""What the keeper of a lab tells the launcher of a node."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

STATE = "state.json"  # written by the launcher: boots since the node was switched on, process id of init
_FILE = "node.json"


@dataclass(frozen=True)
class NodeSpec:
    """Everything the launcher has to know of a node; written by the keeper of the lab."""

    name: str
    release: str  # line of the Talos version that it runs
    folder: str
    rootfs: str
    cgroup: str
    address: str
    prefix: int
    gateway: str
    mac: str
    hub: str  # network namespace with the switch
    port: str  # the switch's end of the node's cable
    pods: str  # subnet of the pods on this node

    def save(self) -> None:
        Path(self.folder, _FILE).write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, folder: Path) -> NodeSpec:
        return cls(**json.loads((folder / _FILE).read_text()))
