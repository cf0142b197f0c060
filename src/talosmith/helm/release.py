"""What is asked of a renderer, and what came out of a chart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from talosmith.helm.manifests import Hook, RenderedObject
from talosmith.helm.volatile import Volatile


@dataclass(frozen=True)
class Release:
    """What templates see in `.Release`."""

    name: str
    namespace: str = "default"
    is_upgrade: bool = False
    revision: int = 1

    def as_table(self) -> dict[str, Any]:
        return {
            "Name": self.name,
            "Namespace": self.namespace,
            "IsUpgrade": self.is_upgrade,
            "IsInstall": not self.is_upgrade,
            "Revision": self.revision,
            "Service": "Helm",
        }


@dataclass(frozen=True)
class Rendered:
    """What came out of a chart."""

    objects: tuple[RenderedObject, ...]  # in the order to create them in
    hooks: tuple[Hook, ...]
    crds: tuple[RenderedObject, ...]  # of crds/ folders; Helm creates them first, and never changes them later
    renderer: str = "talosmith"
    note: str = ""  # why it was another renderer
    volatile: Volatile = field(default_factory=dict)  # fields that differ from one rendering to the next
