"""Tables of objects, as `kubectl get` asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.tables import table


@dataclass(frozen=True, slots=True)
class Tables:
    kubernetes: Kubernetes
    include: str = "Metadata"  # what of the objects comes with the rows

    def table(self, kind: Kind, items: list[Obj], metadata: Obj) -> Obj:
        made = table(kind, items, include=self.include, now=self.kubernetes.world.now())
        made["metadata"] = {**made.get("metadata", {}), **metadata}
        return made
