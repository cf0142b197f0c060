"""Why the pods of a workload do not run, in the words of Kubernetes: ImagePullBackOff, CrashLoopBackOff …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from talosmith import kube as api
from talosmith.errors import Temporary
from talosmith.kube.objects import Object, condition, spec, status

_NORMAL = ("ContainerCreating", "PodInitializing")
_SHOWN = 3


async def pod_troubles(kube: api.KubeClient, refs: Iterable[api.Ref]) -> list[str]:
    """At most a few, each with its pod; empty where nothing but time is missing."""
    found: list[str] = []
    for ref in refs:
        if ref.group != "apps":
            continue
        try:
            workload = await kube.find(ref)
            selector = (spec(workload).get("selector") or {}).get("matchLabels") if workload else None
            if not selector:
                continue
            labels = ",".join(f"{key}={value}" for key, value in selector.items())
            pods = (await kube.list("v1", "Pod", ref.namespace, labels=labels)).items
        except Temporary:
            continue
        found += _troubles(ref, pods)
    return found[:_SHOWN]


def _troubles(ref: api.Ref, pods: Sequence[Object]) -> Iterator[str]:
    for pod in pods:
        name = f"waiting for {ref}: pod {pod['metadata']['name']}"
        scheduled = condition(pod, "PodScheduled")
        if scheduled is not None and scheduled.get("status") == "False":
            yield f"{name}: {scheduled.get('reason')}: {scheduled.get('message')}"
            continue
        for one in (*(status(pod).get("initContainerStatuses") or ()), *(status(pod).get("containerStatuses") or ())):
            waiting = (one.get("state") or {}).get("waiting") or {}
            if waiting and waiting.get("reason") not in _NORMAL:
                yield f"{name}: container {one.get('name')}: {waiting.get('reason')}: {waiting.get('message', '')}"
