"""What the containers of simulated pods say: little, but as plausible as their images allow."""

from __future__ import annotations

from talosmith_lab.kube.cluster import seconds_of
from talosmith_lab.kube.controllers.pods import exit_code
from talosmith_lab.kube.kinds import Obj

Lines = list[tuple[float, str]]


def lines_of(pod: Obj, container: str) -> Lines:
    status = pod.get("status") or {}
    found = [
        one
        for part in ("initContainerStatuses", "containerStatuses")
        for one in status.get(part) or ()
        if one["name"] == container
    ]
    state = (found[0].get("state") or {}) if found else {}
    running, over = state.get("running"), state.get("terminated")
    if not running and not over:
        over = ((found[0].get("lastState") or {}) if found else {}).get("terminated")
    began = (running or over or {}).get("startedAt")
    if not began:
        return []
    start = seconds_of(began)
    lines = _first_words(pod, container, start)
    if over and over.get("exitCode"):
        told = f"{container}: fatal: exiting with code {over['exitCode']}"
        lines.append((seconds_of(over.get("finishedAt") or began), told))
    return lines


def _first_words(pod: Obj, container: str, start: float) -> Lines:
    spec = _container(pod, container)
    words = " ".join([*(spec.get("command") or ()), *(spec.get("args") or ())])
    said: list[str] = []
    if words.startswith("echo "):
        return [(start, words.removeprefix("echo "))]
    image = spec.get("image", "")
    said.append(f"starting {container} from {image} on {pod['spec'].get('nodeName', '')}")
    if words:
        said.append(f"arguments: {words}")
    said += [
        f"listening on 0.0.0.0:{port['containerPort']} ({port.get('protocol', 'TCP')})"
        for port in spec.get("ports") or ()
    ]
    if exit_code(pod) == 0:
        said.append("ready")
    return [(start + number / 1000, line) for number, line in enumerate(said)]


def _container(pod: Obj, name: str) -> Obj:
    for part in ("containers", "initContainers"):
        for one in pod["spec"].get(part) or ():
            if one["name"] == name:
                found: Obj = one
                return found
    return {}
