"""One line for all that can be said of a pod: how many containers are ready, and what holds the others up."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.tables_columns import NONE, Obj, age, name_of, seconds_of, since

_TERMINAL = ("Succeeded", "Failed")


def pod_cells(item: Obj, now: float) -> list[Any]:
    spec, status = item.get("spec", {}), item.get("status", {})
    told = _Told(item)
    restarts = str(told.restarts)
    if told.restarts and told.last_restart:
        restarts = f"{told.restarts} ({since(told.last_restart, now)} ago)"
    addresses = status.get("podIPs") or []
    return [
        name_of(item),
        f"{told.ready}/{told.total}",
        told.reason,
        restarts,
        age(item, now),
        addresses[0].get("ip", "") if addresses else NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec.get("readinessGates") or [], status.get("conditions") or []),
    ]


def pod_conditions(item: Obj) -> list[Obj]:
    """What a row says of a pod that has ended."""
    phase = item.get("status", {}).get("phase")
    if phase not in _TERMINAL:
        return []
    message = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


def _gates(gates: list[Obj], conditions: list[Obj]) -> str:
    if not gates:
        return NONE
    met = {one["type"] for one in conditions if one.get("status") == "True"}
    return f"{sum(gate['conditionType'] in met for gate in gates)}/{len(gates)}"


class _Told:
    """Goes through the containers in the order in which they run; the first that is held up is what is told."""

    def __init__(self, item: Obj) -> None:
        spec, self._status = item.get("spec", {}), item.get("status", {})
        self._inits = spec.get("initContainers") or []
        self._sidecars = {one["name"] for one in self._inits if one.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or []) + len(self._sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.reason = str(self._status.get("reason") or self._status.get("phase") or "")
        if self._condition("PodScheduled", "reason") == "SchedulingGated":
            self.reason = "SchedulingGated"
        if not self._initializing() or self._condition("Initialized", "status") == "True":
            self._running()
        if "deletionTimestamp" in item["metadata"]:
            if self._status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif self._status.get("phase") not in _TERMINAL:
                self.reason = "Terminating"

    def _condition(self, name: str, field: str) -> str:
        conditions = self._status.get("conditions") or []
        return next((str(one.get(field, "")) for one in conditions if one["type"] == name), "")

    def _initializing(self) -> bool:
        """Whether an init container has still to end."""
        self._sidecar_restarts, self._sidecar_restart = 0, ""
        for index, one in enumerate(self._status.get("initContainerStatuses") or []):
            self.restarts += one.get("restartCount", 0)
            self.last_restart = _later(self.last_restart, one)
            sidecar = one.get("name") in self._sidecars
            if sidecar:
                self._sidecar_restarts += one.get("restartCount", 0)
                self._sidecar_restart = _later(self._sidecar_restart, one)
            state = one.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting")
            if ended is not None and not ended.get("exitCode"):
                continue
            if sidecar and one.get("started"):
                self.ready += bool(one.get("ready"))
                continue
            if ended is not None:
                self.reason = f"Init:{_ended(ended)}"
            elif waiting is not None and waiting.get("reason", "") not in ("", "PodInitializing"):
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{len(self._inits)}"
            return True
        return False

    def _running(self) -> None:
        """Of init containers only those count from here on that keep running."""
        self.restarts, self.last_restart = self._sidecar_restarts, self._sidecar_restart
        has_running = False
        for one in reversed(self._status.get("containerStatuses") or []):
            self.restarts += one.get("restartCount", 0)
            self.last_restart = _later(self.last_restart, one)
            state = one.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting")
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif ended is not None:
                self.reason = _ended(ended)
            elif one.get("ready") and state.get("running") is not None:
                has_running = True
                self.ready += 1
        if self.reason == "Completed" and has_running:
            self.reason = "Running" if self._condition("Ready", "status") == "True" else "NotReady"


def _ended(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _later(known: str, status: Obj) -> str:
    """When a container last ended, if that is later than what is known."""
    ended = (status.get("lastState") or {}).get("terminated") or {}
    finished = ended.get("finishedAt")
    if not finished or (known and seconds_of(finished) <= seconds_of(known)):
        return known
    return str(finished)
