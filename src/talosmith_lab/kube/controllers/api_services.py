"""Whether the APIs that other servers add are available: as soon as their Service leads to a ready pod.

What they would serve is not part of the lab; their group is not in discovery.
"""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.endpoints import ENDPOINTS
from talosmith_lab.kube.controllers.objects import SERVICE, key_of, with_condition
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.kinds import Kind, Obj, find

API_SERVICE = find("apiregistration.k8s.io/v1", "APIService")


class ApiServices(Controller):
    name = "api-services"
    watches = (API_SERVICE, ENDPOINTS, SERVICE)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == API_SERVICE.root:
            if now is not None:
                yield now["metadata"]["name"]
            return
        place = key_of(now or before or {})
        for one in self.api.items(API_SERVICE):
            service = one["spec"].get("service") or {}
            if place == f"{service.get('namespace')}/{service.get('name')}":
                yield one["metadata"]["name"]

    def reconcile(self, key: str) -> None:
        found = self.api.find(API_SERVICE, key)
        if found is None:
            return
        told = {"type": "Available", **self._state(found["spec"].get("service"))}
        status = found.get("status") or {}
        conditions = with_condition(status.get("conditions"), told, self.work.now)
        self.work.set_status(API_SERVICE, found, {**status, "conditions": conditions})

    def _state(self, service: Obj | None) -> Obj:
        if not service:
            return {"status": "True", "reason": "Local", "message": "Local APIServices are always available"}
        name, namespace = service["name"], service["namespace"]
        if self.api.find(SERVICE, name, namespace) is None:
            message = f'service/{name} in "{namespace}" is not present'
            return {"status": "False", "reason": "ServiceNotFound", "message": message}
        subsets = (self.api.find(ENDPOINTS, name, namespace) or {}).get("subsets") or ()
        if not any(one.get("addresses") for one in subsets):
            message = f'endpoints for service/{name} in "{namespace}" have no addresses'
            return {"status": "False", "reason": "MissingEndpoints", "message": message}
        return {"status": "True", "reason": "Passed", "message": "all checks passed"}
