"""Cloud controller managers, played: nodes that wait for one are initialised, requests of kubelets approved."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube import cloud_controllers as cloud
from talosmith_lab.kube.controllers.objects import NODE
from talosmith_lab.kube.controllers.operators import WORKLOADS, workloads
from talosmith_lab.kube.controllers.signing import REQUEST
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.operators import is_available

_APPROVED = "Approved by TalosCloudControllerManager"
_ALL = "all"


class CloudNodes(Controller):
    name = "cloud-nodes"
    watches = (NODE, REQUEST, *WORKLOADS)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if now is None:
            return
        if kind in WORKLOADS:
            if cloud.is_manager(now) and is_available(now):
                yield _ALL
        elif kind.root == NODE.root:
            if any(taint["key"] == cloud.UNINITIALIZED for taint in now["spec"].get("taints") or ()):
                yield _ALL
        elif _waits(now):
            yield _ALL

    def reconcile(self, key: str) -> None:
        self.work.after(self, "look", key, "operator")

    def elapsed(self, what: str, key: str) -> None:
        found = workloads(self.work)
        manager = cloud.initialiser(found)
        for node in list(self.api.items(NODE)) if manager is not None else ():
            spec = cloud.initialised(node, manager) if manager is not None else None
            if spec is not None:
                self.work.put(NODE, {**node, "spec": spec})
        if cloud.approver(found) is not None:
            for request in [one for one in self.api.items(REQUEST) if _waits(one)]:
                self._approve(request)

    def _approve(self, request: Obj) -> None:
        now = self.work.now
        told = {"type": "Approved", "status": "True", "reason": _APPROVED, "message": "kubelet-serving certificate"}
        conditions = [{**told, "lastUpdateTime": now, "lastTransitionTime": now}]
        self.work.set_status(REQUEST, request, {**(request.get("status") or {}), "conditions": conditions})


def _waits(request: Obj) -> bool:
    serving = request["spec"].get("signerName") == cloud.KUBELET_SERVING
    return serving and not (request.get("status") or {}).get("conditions")
