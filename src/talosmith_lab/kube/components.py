"""The health of what a control plane consists of, which `kubectl get componentstatuses` still asks for."""

from __future__ import annotations

from talosmith_lab.kube.kinds import Obj

RESOURCE = "componentstatuses"
_PARTS = ("scheduler", "controller-manager", "etcd-0")


def statuses() -> list[Obj]:
    """An API server that answers at all has found them well: in the lab they live and die together."""
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    return [
        {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [healthy]}
        for name in _PARTS
    ]
