"""A changed flag of a component is in use when the pod that runs has the marks of the static pod that Talos wrote."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from talosmith.steps.components import until_components_current
from talosmith.steps.context import Context


def pod(component: str, version: str, name: str = "") -> dict[str, Any]:
    labels, marks = {"k8s-app": component}, {"talos.dev/config-version": version, "other/mark": "x"}
    return {"metadata": {"name": name or component, "labels": labels, "annotations": marks}}


class Node:
    """A control plane: the static pods that Talos wrote, and what the kubelet runs, look by look."""

    def __init__(self, written: list[dict[str, Any]], *running: list[dict[str, Any]]) -> None:
        self.written = written
        self.running = list(running)
        self.asked = 0
        self.said: list[str] = []

    async def list(self, kind: str) -> list[Any]:
        assert kind == "staticpods"
        return [SimpleNamespace(spec=one) for one in self.written]

    async def nodename(self) -> str:
        return "cp-1"

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        assert options["params"] == {"fieldSelector": "spec.nodeName=cp-1"}
        self.asked += 1
        return SimpleNamespace(item={"items": self.running.pop(0) if len(self.running) > 1 else self.running[0]})

    def report(self, text: str, hint: str = "", *, phase: str = "") -> None:
        self.said.append(text)

    @property
    def context(self) -> Context:
        return cast(
            Context,
            SimpleNamespace(
                configured=lambda name: self,
                kube_at=lambda name: SimpleNamespace(caller=self),
                provider=SimpleNamespace(simulated=True),
            ),
        )


async def test_the_old_pod_is_not_taken_for_the_new_one() -> None:
    old, new = pod("kube-apiserver", "1", "kube-apiserver-cp-1"), pod("kube-apiserver", "2", "kube-apiserver-cp-1")
    scheduler = pod("kube-scheduler", "2", "kube-scheduler-cp-1")  # the version alone proves nothing
    node = Node([pod("kube-apiserver", "2"), pod("kube-scheduler", "2")], [old, scheduler], [], [new, scheduler])
    await until_components_current(node.context, "cp-1", node.report)
    assert (
        node.said
        == [
            "waiting for static pods of cp-1 to be updated: "
            "kube-apiserver still runs with the earlier machine config",
        ]
        * 2
    )
    assert node.asked == 4, "seen twice, as Talos takes a moment to write them"


async def test_a_node_without_static_pods_is_not_waited_for() -> None:
    node = Node([])
    await until_components_current(node.context, "cp-1", node.report)
    assert node.asked == 0
