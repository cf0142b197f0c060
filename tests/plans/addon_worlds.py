"""Add-ons of plan cases, told in a few words: `net: absent`, `web: ready`, `web: {is: changed, after: [net]}`.

What an add-on consists of is small and the same for all: a CRD if it is told to have one, a Deployment, and a custom
object that needs the running add-on if it is told to have `config`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from talosmith.desired.addons import AddonProblem, DesiredAddon
from talosmith.desired.target import Desired
from talosmith.model.resources import SettingChange
from talosmith.observed.world import AddonSeen, AddonsSeen, ObjectChange, Observed, Unknown

_CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}


def with_addons(wanted: Desired, world: Observed, told: Any) -> tuple[Desired, Observed]:
    """`told`: what the cluster has of each add-on; `unknown`: the Kubernetes API does not answer."""
    if told is None:
        return wanted, world
    wanted = copy.copy(wanted)
    unknown = told.pop("unknown", False)
    states = {name: state if isinstance(state, dict) else {"is": state} for name, state in told.items()}
    problems = [AddonProblem(name, one["is"], "pull") for name, one in states.items() if " " in one["is"]]
    made = {
        name: _desired(wanted, name, state)
        for name, state in states.items()
        if name in wanted.cluster.addons and " " not in state["is"]
    }
    wanted.__dict__["_addons"] = (made, tuple(problems))
    if unknown:
        return wanted, replace(world, addons=Unknown("connection refused"))
    if not isinstance(world.kubernetes, Mapping):
        return wanted, world
    each = {name: _seen(made[name], states[name]["is"]) for name in made}
    former = {name: _former(name) for name in states if name not in wanted.cluster.addons}
    return wanted, replace(world, addons=AddonsSeen(each=each, not_in_inventory=former))


def _desired(wanted: Desired, name: str, state: Mapping[str, Any]) -> DesiredAddon:
    enabled = wanted.cluster.addons[name]
    parts = {*state.get("has", ())}
    return DesiredAddon(
        name=name,
        namespace=enabled.namespace,
        stage=enabled.stage,
        version="1.2.3",
        after=enabled.after,
        crds=({**_CRD, "metadata": {"name": f"{name}s.example.org"}},) if "crds" in parts else (),
        objects=({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}},),
        config=({"apiVersion": "example.org/v1", "kind": "Web", "metadata": {"name": name}},)
        if "config" in parts
        else (),
    )


def _seen(one: DesiredAddon, state: str) -> AddonSeen:
    deployment, crd = f"Deployment {one.namespace}/{one.name}", f"CustomResourceDefinition {one.name}s.example.org"
    ready = AddonSeen(name=one.name, installed=True, version=one.version)
    replicas = (SettingChange(f"{deployment} spec.replicas", 1, 2),)
    created = tuple(ObjectChange(ref=f"Web {one.name}", outcome="created") for _ in one.config)
    match state:
        case "absent":
            crds = tuple(ObjectChange(ref=crd, outcome="created") for _ in one.crds)
            objects = (ObjectChange(ref=deployment, outcome="created"),)
            return AddonSeen(name=one.name, crds=crds, objects=objects, config=created)
        case "ready":
            return ready
        case "changed":
            return replace(ready, objects=(ObjectChange(ref=deployment, outcome="changed", settings=replicas),))
        case "unready":
            return replace(ready, unready=(f"{deployment}: 0 of 1 pods are available",))
        case "unconfigured":
            return replace(ready, config=created)
        case "of-flux":
            return replace(
                ready,
                manager="Flux (HelmRelease web/web)",
                objects=(ObjectChange(ref=deployment, outcome="changed"),),
            )
        case "of-kubectl":
            return AddonSeen(
                name=one.name, manager="another tool (Deployment web/web exists, and talosmith did not create it)"
            )
        case "pruned":
            kept = ObjectChange(ref=crd, outcome="kept", note="it may hold what others have put there")
            return replace(ready, objects=(ObjectChange(ref="ConfigMap web/old", outcome="pruned"), kept))
        case "conflict":
            note = "another field manager owns .spec.replicas (kubectl-edit)"
            return replace(ready, objects=(ObjectChange(ref=deployment, outcome="kept", note=note),))
        case "refused":
            note = "Deployment.apps is invalid: spec.selector: field is immutable"
            return replace(ready, objects=(ObjectChange(ref=deployment, outcome="refused", note=note),))
        case "newer":
            return replace(ready, downgrades=("webs.example.org: v2.0.0 is installed, the new definition is v1.0.0",))
    raise AssertionError(f"no such state: {state}")


def _former(name: str) -> AddonSeen:
    gone = ObjectChange(ref=f"Deployment {name}/{name}", outcome="pruned")
    kept = ObjectChange(
        ref=f"CustomResourceDefinition {name}s.example.org", outcome="kept", note="it may hold objects"
    )
    return AddonSeen(name=name, installed=True, objects=(gone, kept))
