"""Where services lead: the addresses of their pods, as Endpoints and as EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.objects import (
    POD,
    SERVICE,
    going,
    has,
    is_over,
    is_ready,
    key_of,
    labels_of,
    split,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.kinds import Kind, Obj, find
from talosmith_lab.naming import main_address

ENDPOINTS = find("v1", "Endpoints")
SLICE = find("discovery.k8s.io/v1", "EndpointSlice")
_OF = "kubernetes.io/service-name"
_BY = "endpointslice.kubernetes.io/managed-by"
_IN_SLICE, _IN_ENDPOINTS = 100, 1000
_CROWD = 200  # pods, from which on changes are gathered for a moment
_MOMENT = 0.25
_API = "default/kubernetes"


class ServiceEndpoints(Controller):
    name = "endpoints"
    watches = (SERVICE, POD)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == SERVICE.root:
            yield key_of(now or before or {})
            return
        if before is not None and now is not None and _counts(before) == _counts(now):
            return
        pod = now or before or {}
        for service in self.api.items(SERVICE, pod["metadata"]["namespace"]):
            selector = service["spec"].get("selector")
            if selector and selector.items() <= labels_of(pod).items():
                yield key_of(service)

    def machine_changed(self, name: str) -> Iterable[str]:
        machine = self.work.world.machines.get(name)
        config = self.work.world.config(machine) if machine is not None else None
        if config is None or config.is_controlplane:
            yield _API

    def reconcile(self, key: str) -> None:
        service = self.api.find(SERVICE, *split(key))
        if key == _API and service is not None:
            self._api_servers(service)
            return
        if service is None:
            self._forget(key)
            return
        if not service["spec"].get("selector"):
            return
        pods = self._pods(service)
        if len(pods) < _CROWD:
            self._write(service, pods)
        else:
            self.work.wait(self, "gather", key, _MOMENT)

    def elapsed(self, what: str, key: str) -> None:
        service = self.api.find(SERVICE, *split(key))
        if service is not None and service["spec"].get("selector"):
            self._write(service, self._pods(service))

    def _pods(self, service: Obj) -> list[Obj]:
        selector = service["spec"]["selector"].items()
        return [
            pod
            for pod in self.api.items(POD, service["metadata"]["namespace"])
            if selector <= labels_of(pod).items() and (pod.get("status") or {}).get("podIP") and not is_over(pod)
        ]

    def _write(self, service: Obj, pods: list[Obj]) -> None:
        ports = service["spec"].get("ports") or []
        ends = [_end(service, pod) for pod in pods]
        given = [
            {"name": port.get("name", ""), "port": _number(port, pods), "protocol": port.get("protocol", "TCP")}
            for port in ports
        ]
        self._slices(service, ends, given)
        addresses = [_address(pod) for pod in pods if _open(service, pod)]
        others = [_address(pod) for pod in pods if not _open(service, pod) and not going(pod)]
        self._endpoints(service, addresses, others, given)

    def _slices(self, service: Obj, ends: list[Obj], ports: list[Obj]) -> None:
        metadata = service["metadata"]
        family = (service["spec"].get("ipFamilies") or ["IPv4"])[0]
        parts = [ends[at : at + _IN_SLICE] for at in range(0, len(ends), _IN_SLICE)] or [[]]
        found = list(self._slices_of(metadata["namespace"], metadata["name"]))
        for number, part in enumerate(parts):
            wanted = {"addressType": family, "endpoints": part, "ports": ports}
            if number < len(found):
                if any((found[number].get(name) or []) != (value or []) for name, value in wanted.items()):
                    self.work.put(SLICE, {**found[number], **wanted})
                continue
            labels = {**labels_of(service), _BY: "endpointslice-controller.k8s.io", _OF: metadata["name"]}
            if service["spec"].get("clusterIP") == "None":
                labels["service.kubernetes.io/headless"] = ""
            slice_ = {
                "apiVersion": SLICE.api_version,
                "kind": SLICE.kind,
                "metadata": {
                    "generateName": f"{metadata['name']}-",
                    "labels": labels,
                    "ownerReferences": [_owned_by(service)],
                },
                **wanted,
            }
            self.api.create(SLICE, slice_, metadata["namespace"], how=MANAGER)
        for old in found[len(parts) :]:
            self.api.remove(SLICE, old["metadata"]["name"], metadata["namespace"])

    def _slices_of(self, namespace: str, service: str) -> list[Obj]:
        return list(self.api.items(SLICE, namespace, labels=f"{_OF}={service}"))

    def _endpoints(self, service: Obj, ready: list[Obj], others: list[Obj], ports: list[Obj]) -> None:
        metadata = service["metadata"]
        subset: Obj = {}
        if ready:
            subset["addresses"] = ready[:_IN_ENDPOINTS]
        if others:
            subset["notReadyAddresses"] = others[:_IN_ENDPOINTS]
        if subset and ports:
            subset["ports"] = [{name: value for name, value in port.items() if value} for port in ports]
        wanted = [subset] if subset else []
        found = self.api.find(ENDPOINTS, metadata["name"], metadata["namespace"])
        if found is None:
            made = {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {
                    "name": metadata["name"],
                    "labels": {**labels_of(service), "endpoints.kubernetes.io/managed-by": "endpoint-controller"},
                },
                "subsets": wanted,
            }
            self.api.create(ENDPOINTS, made, metadata["namespace"], how=MANAGER)
        elif (found.get("subsets") or []) != wanted:
            changed = {**found, "subsets": wanted}
            if not wanted:
                del changed["subsets"]
            self.work.put(ENDPOINTS, changed)

    def _forget(self, key: str) -> None:
        name, namespace = split(key)
        self.api.remove(ENDPOINTS, name, namespace)

    def _api_servers(self, service: Obj) -> None:
        """The API's own service leads to the control planes, and its slice has its name."""
        addresses = sorted(main_address(self.work.world, one) for one in self.work.control_planes)
        ports = [{"name": "https", "port": 6443, "protocol": "TCP"}]
        ends = [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]
        found = self.api.find(SLICE, "kubernetes", "default")
        wanted = {"addressType": "IPv4", "endpoints": ends, "ports": ports}
        if found is None:
            metadata = {"name": "kubernetes", "labels": {_OF: "kubernetes"}}
            made = {"apiVersion": SLICE.api_version, "kind": SLICE.kind, "metadata": metadata, **wanted}
            self.api.create(SLICE, made, "default", how=MANAGER)
        elif found.get("endpoints") != ends:
            self.work.put(SLICE, {**found, **wanted})
        self._endpoints(service, [{"ip": address} for address in addresses], [], ports)


def _counts(pod: Obj) -> tuple[object, ...]:
    status = pod.get("status") or {}
    return going(pod), is_over(pod), is_ready(pod), status.get("podIP"), pod["metadata"].get("labels")


def _open(service: Obj, pod: Obj) -> bool:
    if service["spec"].get("publishNotReadyAddresses"):
        return True
    return is_ready(pod) and not going(pod)


def _end(service: Obj, pod: Obj) -> Obj:
    conditions = {"ready": _open(service, pod), "serving": has(pod, "Ready"), "terminating": going(pod)}
    end = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": conditions,
        "nodeName": pod["spec"].get("nodeName", ""),
        "targetRef": _target(pod),
    }
    hostname = pod["spec"].get("hostname")
    if hostname and pod["spec"].get("subdomain") == service["metadata"]["name"]:
        end["hostname"] = hostname
    return end


def _target(pod: Obj) -> Obj:
    metadata = pod["metadata"]
    named = {"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
    return {"kind": "Pod", **named}


def _address(pod: Obj) -> Obj:
    return {"ip": pod["status"]["podIP"], "nodeName": pod["spec"].get("nodeName", ""), "targetRef": _target(pod)}


def _number(port: Obj, pods: list[Obj]) -> int:
    """A target may be named, and is then looked up in the pods."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for pod in pods:
        for container in pod["spec"].get("containers") or ():
            for one in container.get("ports") or ():
                if one.get("name") == target:
                    return int(one["containerPort"])
    return int(port["port"])


def _owned_by(service: Obj) -> Obj:
    metadata = service["metadata"]
    named = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    return {**named, "controller": True, "blockOwnerDeletion": True}
