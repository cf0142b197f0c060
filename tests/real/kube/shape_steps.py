"""Writes drawn from a seed: applies by several managers and patches of every kind, on objects of a few kinds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from talosmith_lab.kube.schema import Obj
from tests.real.kube.shapes import APPLY, JSON, MERGE, STRATEGIC

MANAGERS = ("kubectl", "flux", "helm", "controller")


@dataclass(frozen=True)
class Step:
    content: str
    body: Any
    manager: str
    force: bool = False
    subresource: str = ""


def bases() -> dict[str, Obj]:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "a:1",
                    "env": [{"name": "A", "value": "1"}],
                    "ports": [{"containerPort": 80}],
                },
                {"name": "side", "image": "b"},
            ],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }
    selector = {"matchLabels": {"app": "x"}}
    return {
        "Deployment": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"labels": {"app": "x"}},
            "spec": {"replicas": 2, "selector": selector, "template": template},
        },
        "ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": "1", "b": "2"}},
        "Service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {},
            "spec": {"selector": {"app": "x"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]},
        },
        "Node": {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"labels": {"a": "b"}, "finalizers": ["x.test/one"]},
            "spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]},
        },
        "ServiceAccount": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {}, "secrets": [{"name": "a"}]},
    }


def step(kind: str, draw: random.Random) -> Step:
    content = draw.choice((APPLY, APPLY, APPLY, STRATEGIC, STRATEGIC, MERGE, JSON))
    manager = draw.choice(MANAGERS)
    if content == APPLY:
        return Step(content, _config(kind, draw), manager, draw.random() < 0.6)
    if content == STRATEGIC:
        return Step(content, _strategic(kind, draw), manager)
    if content == MERGE:
        return Step(content, _merge(kind, draw), manager)
    return Step(content, _operations(kind, draw), manager)


def _some(draw: random.Random, options: dict[str, Any], likely: float = 0.5) -> Obj:
    return {name: value for name, value in options.items() if draw.random() < likely}


def _texts(draw: random.Random) -> Obj:
    return _some(draw, {name: draw.choice(("1", "2", "")) for name in ("a", "b", "c", "x/y")})


def _metadata(draw: random.Random) -> Obj:
    return _some(
        draw,
        {
            "labels": {"app": "x", **_texts(draw)},
            "annotations": _texts(draw),
            "finalizers": draw.sample(["x.test/one", "x.test/two", "x.test/three"], draw.randint(0, 3)),
        },
    )


def _container(draw: random.Random, name: str) -> Obj:
    ports = [{"containerPort": 80}, {"containerPort": 81, "name": "m"}, {"containerPort": 80, "protocol": "UDP"}]
    env = [{"name": name, "value": draw.choice(("1", "2"))} for name in ("A", "B", "C")]
    container = {"name": name, "image": draw.choice(("a:1", "a:2", "b"))}
    return container | _some(
        draw,
        {
            "env": draw.sample(env, draw.randint(0, 3)),
            "ports": draw.sample(ports, draw.randint(0, 3)),
            "args": draw.sample(["a", "b"], draw.randint(0, 2)),
            "resources": _some(draw, {"limits": {"cpu": draw.choice(("1", "500m"))}, "requests": {"memory": "1Gi"}}),
            "readinessProbe": {"httpGet": {"port": 80}},
            "securityContext": {"runAsUser": 0},
        },
        0.35,
    )


def _config(kind: str, draw: random.Random) -> Obj:
    base = bases()[kind]
    config: Obj = {"apiVersion": base["apiVersion"], "kind": kind, "metadata": _metadata(draw)}
    return config | _content(kind, draw, whole=True)


def _content(kind: str, draw: random.Random, *, whole: bool) -> Obj:
    if kind == "ConfigMap":
        return _some(draw, {"data": _texts(draw)}, 0.8)
    if kind == "ServiceAccount":
        names = draw.sample(["a", "b", "c"], draw.randint(0, 3))
        return _some(
            draw,
            {
                "secrets": [{"name": name} for name in names],
                "imagePullSecrets": [{"name": name} for name in reversed(names)],
                "automountServiceAccountToken": draw.choice((True, False)),
            },
        )
    if kind == "Node":
        taints = [{"key": "t", "effect": "NoSchedule"}, {"key": "u", "value": "1", "effect": "NoExecute"}]
        wish = {"unschedulable": draw.choice((True, False)), "taints": draw.sample(taints, draw.randint(0, 2))}
        return {"spec": _some(draw, wish)}
    if kind == "Service":
        ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "x"}, {"name": "c", "port": 82}]
        wish = {"selector": {"app": draw.choice("xy")}, "sessionAffinity": draw.choice(("None", "ClientIP"))}
        if whole or draw.random() < 0.5:
            wish["ports"] = draw.sample(ports, draw.randint(1, 3))
        return {"spec": _some(draw, wish)}
    names = draw.sample(["main", "side", "third"], draw.randint(1, 3))
    pod = _some(
        draw,
        {
            "containers": [_container(draw, name) for name in names],
            "volumes": draw.sample(
                [{"name": "tmp", "emptyDir": {}}, {"name": "cm", "configMap": {"name": "x"}}, {"name": "z"}],
                draw.randint(0, 3),
            ),
            "terminationGracePeriodSeconds": draw.choice((0, 5)),
            "nodeSelector": {"a": "b"},
            "hostNetwork": False,
        },
        0.6,
    )
    spec = _some(
        draw,
        {
            "replicas": draw.choice((0, 1, 2, 3)),
            "revisionHistoryLimit": draw.choice((0, 5)),
            "paused": draw.choice((True, False)),
            "strategy": draw.choice(({"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 1}}, {})),
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod},
        },
        0.5,
    )
    return {"spec": spec} if spec else {}


def _merge(kind: str, draw: random.Random) -> Obj:
    patch = {"metadata": _metadata(draw)} | _content(kind, draw, whole=False)
    if draw.random() < 0.4:
        patch["metadata"]["annotations"] = {"a": None, "b": draw.choice(("1", None))}
    return patch


def _strategic(kind: str, draw: random.Random) -> Obj:
    patch = _merge(kind, draw)
    pod = ((patch.get("spec") or {}).get("template") or {}).get("spec")
    if pod is not None and draw.random() < 0.5:
        containers = [_container(draw, "main")]
        if draw.random() < 0.3:
            containers.append({"name": "side", "$patch": "delete"})
        if draw.random() < 0.3:
            containers[0]["env"] = [{"name": "A", "$patch": "delete"}, {"name": "B", "value": "9"}]
        pod["containers"] = containers
        if draw.random() < 0.5:
            kept = [{"name": one["name"]} for one in containers if "$patch" not in one]
            order = [*kept, *({"name": "third"} for _ in range(draw.randint(0, 1)))]
            pod["$setElementOrder/containers"] = order
        if draw.random() < 0.3:
            pod["volumes"] = [{"$patch": "replace"}, {"name": "new", "emptyDir": {"medium": "Memory"}}]
        elif draw.random() < 0.3:
            source = {"name": "tmp", "configMap": {"name": "y"}, "$retainKeys": ["name", "configMap"]}
            pod["volumes"] = [source]
    if kind == "Deployment" and draw.random() < 0.2:
        patch.setdefault("spec", {})["strategy"] = {"$retainKeys": ["type"], "type": "Recreate"}
    if draw.random() < 0.2:
        patch["metadata"] = {"$deleteFromPrimitiveList/finalizers": ["x.test/one"]}
    elif draw.random() < 0.2:
        patch["metadata"] = {"labels": {"$patch": "replace", "app": "x", "only": "1"}}
    return patch


def _operations(kind: str, draw: random.Random) -> list[Obj]:
    options: list[Obj] = [
        {"op": "add", "path": "/metadata/labels", "value": {"app": "x", "new": "1"}},
        {"op": "add", "path": "/metadata/annotations", "value": _texts(draw)},
        {"op": "replace", "path": "/metadata/annotations/a", "value": "7"},
        {"op": "remove", "path": "/metadata/annotations/b"},
        {"op": "test", "path": "/kind", "value": kind},
        {"op": "test", "path": "/kind", "value": "Other"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["x.test/two"]},
    ]
    if kind == "Deployment":
        container = "/spec/template/spec/containers/0"
        options += [
            {"op": "replace", "path": f"{container}/image", "value": "c:3"},
            {"op": "add", "path": f"{container}/env", "value": [{"name": "J", "value": "1"}]},
            {"op": "add", "path": f"{container}/env/-", "value": {"name": "K"}},
            {"op": "remove", "path": f"{container}/ports"},
            {"op": "remove", "path": "/spec/template/spec/containers/1"},
            {"op": "remove", "path": "/spec/revisionHistoryLimit"},
            {"op": "copy", "from": "/spec/replicas", "path": "/spec/revisionHistoryLimit"},
        ]
    return draw.sample(options, draw.randint(1, 3))
