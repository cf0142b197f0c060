"""Events: what controllers and kubelets tell people. Kept for an hour, and not without end."""

from __future__ import annotations

from collections import deque

from talosmith_lab.kube.api import Api
from talosmith_lab.kube.cluster import seconds_of, stamp
from talosmith_lab.kube.kinds import Obj, find

EVENT = find("v1", "Event")
KEPT = 5000
_SECONDS = 3600.0
_LETTERS = 16


class Events:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: deque[tuple[float, str, str]] | None = None  # when, namespace, name; oldest first
        self._same: dict[tuple[str, str, str], tuple[str, str]] = {}  # told before: namespace and name

    def tell(
        self,
        about: Obj,
        reason: str,
        message: str,
        *,
        source: str = "kubelet",
        host: str = "",
        type: str = "Normal",  # noqa: A002 - the field's own name
        field: str = "",
    ) -> None:
        metadata = about["metadata"]
        told = (metadata["uid"], reason, message)
        now = stamp(self._api.kubernetes.world.now())
        if told in self._same and self._again(*self._same[told], now):
            return
        world = self._api.kubernetes.world
        world.counter += 1
        number = f"{int(world.now() * 1e6):x}{world.counter:04x}"[-_LETTERS:]
        namespace, name = metadata.get("namespace") or "default", f"{metadata['name']}.{number}"
        target = {"kind": about["kind"], "namespace": metadata.get("namespace"), "name": metadata["name"]}
        target |= {"uid": metadata["uid"], "apiVersion": about["apiVersion"]}
        target |= {"resourceVersion": metadata.get("resourceVersion"), "fieldPath": field}
        source_of = {"component": source, **({"host": host} if host else {})}
        event = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": world.unique("event"),
                "creationTimestamp": now,
            },
            "involvedObject": {part: value for part, value in target.items() if value},
            "reason": reason,
            "message": message,
            "source": source_of,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "eventTime": None,
            "reportingComponent": source,
            "reportingInstance": host,
        }
        self._api.put(EVENT, EVENT.key(namespace, name), event)
        self._same[told] = namespace, name
        self._remember(namespace, name)

    def _again(self, namespace: str, name: str, now: str) -> bool:
        found = self._api.find(EVENT, name, namespace)
        if found is None:
            return False
        event = {**found, "metadata": {**found["metadata"]}, "count": found["count"] + 1, "lastTimestamp": now}
        self._api.put(EVENT, EVENT.key(namespace, name), event)
        return True

    def _remember(self, namespace: str, name: str) -> None:
        now = self._api.kubernetes.world.now()
        if self._known is None:
            self._known = self._found()
        else:
            self._known.append((now, namespace, name))
        while len(self._known) > KEPT or (self._known and self._known[0][0] < now - _SECONDS):
            _, place, old = self._known.popleft()
            self._api.remove(EVENT, old, place)
        if len(self._same) > KEPT:
            self._same.clear()

    def _found(self) -> deque[tuple[float, str, str]]:
        """Those that an earlier life of this lab, or others, have told."""
        found = []
        for event in self._api.items(EVENT):
            at = event.get("lastTimestamp") or event["metadata"].get("creationTimestamp")
            found.append((seconds_of(at), event["metadata"]["namespace"], event["metadata"]["name"]))
        return deque(sorted(found))
