"""Worlds for plans, told in a few words: `cp-1: ready`, `w-2: gone`, `w-1: {is: ready, config: {…}}`.

`registered`: Kubernetes has a Node object of one that is off or silent; `cordoned`: by whom.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load as load_config
from talosmith.desired.target import Desired, config_digest
from talosmith.inventory import load
from talosmith.model.machines import Machine
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, SettingChange
from talosmith.model.secret import Secret
from talosmith.observed.resources import compare
from talosmith.observed.world import (
    EtcdMemberSeen,
    EtcdSeen,
    KubeNodeSeen,
    NodeSeen,
    Observed,
    ResourcesSeen,
    Unknown,
)
from tests.cloud import Backend, Cloud

BASE = {
    "cluster_name": "t",
    "talos_version": "v1.13.9",
    "kubernetes_version": "v1.36.3",
    "controlplane": 1,
    "workers": 0,
    "lab": {},
}
LEARNING = ("learning",)
STATES = (
    "ready", "gone", "lost", "off", "maintenance", "silent", "unknown", "foreign", "waiting", "booting", "unready",
    "sick", "learning",
)  # fmt: skip
MEMBERS = ("ready", "unready", "sick", *LEARNING)  # states in which a control plane has a running etcd


@functools.cache
def bundle() -> Bundle:
    return Bundle.generate(contract=(1, 13))


@functools.cache
def _desired(text: str) -> Desired:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cluster.yaml").write_text(text)
        return Desired(load(Path(folder), None), bundle())


def desired(inventory: Mapping[str, Any]) -> Desired:
    return _desired(yaml.safe_dump({**BASE, **inventory}))


def observed(
    wanted: Desired, told: Mapping[str, Any], *, etcd: Mapping[str, Any], api: bool | None, resources: Any = None
) -> Observed:
    """`told`: nodes by name; those that are not told of are gone. Names that the inventory lacks become `others`."""
    states = {name: _state(told.get(name, "gone")) for name in dict.fromkeys([*wanted.nodes, *told])}
    leading = [name for name in states if _leads(wanted, name)]
    members = _members(leading, states, etcd)
    nodes = {name: _node(wanted, name, state, members, etcd) for name, state in states.items()}
    running = any(states[name]["is"] in MEMBERS for name in leading)
    up = running if api is None else api
    registered = {name: seen.kube for name, seen in nodes.items() if isinstance(seen.kube, KubeNodeSeen)}
    kubernetes = registered if up else Unknown("nobody answers") if running else None
    return Observed(
        at=0.0,
        nodes={name: nodes[name] for name in wanted.nodes},
        not_in_inventory={name: seen for name, seen in nodes.items() if name not in wanted.nodes},
        kubernetes=kubernetes,
        resources=_resources(wanted, resources),
    )


def _resources(wanted: Desired, told: Any) -> ResourcesSeen | Unknown | None:
    """What exists of the cloud of `tests/cloud.py` and besides, such as `subnet/a: {cidr: 10.9.9.0/24}`.

    `there`: as it is wanted; `foreign`: not this cluster's. None: the provider has no resources.
    """
    if told is None or told == "unknown":
        return None if told is None else Unknown("the provider does not answer")
    cloud = Cloud(wanted.owner, Backend(), tuple(node.name for node in wanted.controlplanes))
    specs = {one.key: one for one in cloud.resources()}
    found = []
    for place, state in told.items():
        key = ResourceKey(*place.split("/"))
        spec = specs.get(key) or ResourceSpec(kind=key.kind, name=key.name, settings={})
        more = dict(state) if isinstance(state, dict) else {}
        about: dict[str, Any] = {"needs": spec.needs, "members": spec.members, "shared": spec.shared}
        about |= {name: more.pop(name) for name in ("used_by", "shared") if name in more}
        about |= (
            {"needs": tuple(ResourceKey(*one.split("/")) for one in more.pop("needs"))} if "needs" in more else {}
        )
        tags = {} if state == "foreign" else wanted.owner.resource_tags
        settings = {**spec.settings, **more, **({"dns": False} if state == "foreign" else {})}
        found.append(Resource(id=place, kind=key.kind, name=key.name, settings=settings, tags=tags, **about))
    return compare(wanted, cloud, found)


def _state(told: Any) -> dict[str, Any]:
    state = told if isinstance(told, dict) else {"is": told}
    assert state["is"] in STATES, f"no such state: {state['is']!r} (YAML reads off as False: quote it)"
    return state


def _leads(wanted: Desired, name: str) -> bool:
    return wanted.nodes[name].is_controlplane if name in wanted.nodes else name.startswith("cp")


def _members(names: Iterable[str], states: Mapping[str, Any], etcd: Mapping[str, Any]) -> tuple[EtcdMemberSeen, ...]:
    """Who etcd counts: control planes that run it, and those that are told to be still in it."""
    listed = [name for name in names if states[name]["is"] in MEMBERS or name in etcd.get("still", ())]
    return tuple(
        EtcdMemberSeen(id=number, name=name, learner=states[name]["is"] in LEARNING)
        for number, name in enumerate(listed, 1)
    )


def _node(
    wanted: Desired, name: str, state: Mapping[str, Any], members: tuple[EtcdMemberSeen, ...], etcd: Mapping[str, Any]
) -> NodeSeen:
    kind = state["is"]
    role = "controlplane" if _leads(wanted, name) else "worker"
    more = {
        field: tuple(SettingChange(*one) for one in value) if field in ("fixed", "kept") else value
        for field, value in state.get("machine", {}).items()
    }
    machine: Machine | Unknown | None = Machine(
        id=name, name=name, role=role, power="off" if kind == "off" else "on", **more
    )
    if kind in ("gone", "lost"):
        machine = None
    if kind == "unknown":
        machine = Unknown("the provider does not answer")
    seen: dict[str, Any] = {"name": name, "machine": machine, "address": state.get("at", "")}
    if kind == "maintenance":
        seen |= {"stage": "maintenance", "fingerprint": "x"}
    elif kind == "off":
        off = Unknown("its machine is off")
        seen |= {"config": off, "talos_version": off, "etcd": off if role == "controlplane" else None}
    elif kind in ("silent", "unknown"):
        seen |= {"stage": Unknown("connection refused"), "config": Unknown("connection refused")}
        seen |= {"etcd": Unknown("connection refused")} if role == "controlplane" else {}
    elif kind == "foreign":
        seen |= {"stage": Unknown("not trusted"), "foreign_reason": "shows a certificate of another cluster"}
    elif kind in (*MEMBERS, "waiting", "booting"):
        seen |= _running(wanted, name, state, role, members, etcd)
    if kind in (*MEMBERS, "lost") or "cordoned" in state or state.get("registered"):
        version = state.get("kubernetes", str(wanted.cluster.kubernetes_version))
        cordoned = state.get("cordoned", "")
        seen["kube"] = KubeNodeSeen(name=name, ready=kind == "ready", version=version, cordoned_by=cordoned)
    return NodeSeen(**seen)


def _running(
    wanted: Desired,
    name: str,
    state: Mapping[str, Any],
    role: str,
    members: tuple[EtcdMemberSeen, ...],
    etcd: Mapping[str, Any],
) -> dict[str, Any]:
    kind = state["is"]
    ready = kind in ("ready", *LEARNING)
    seen: dict[str, Any] = {
        "stage": "booting" if kind == "booting" else "running",
        "ready": ready,
        "unmet": () if ready else ("services: kubelet not running",),
        "talos_version": state.get("talos", str(wanted.cluster.talos_version)),
        "pending_reboot": state.get("pending_reboot", False),
        **_config(wanted, name, state.get("config", {})),
    }
    if role == "controlplane" and kind in ("waiting", "booting"):
        seen["etcd"] = EtcdSeen(state="Preparing", waiting=True)
    elif role == "controlplane":
        own = next(member.id for member in members if member.name == name)
        alarms = tuple(etcd.get("alarms", ()))
        seen["etcd"] = EtcdSeen(
            state="Running", healthy=kind != "sick", member_id=own, leader=1, members=members, alarms=alarms
        )
    return seen


def _config(wanted: Desired, name: str, differing: Mapping[str, Any] | str) -> dict[str, Any]:
    if differing == "unknown":
        return {"config": Unknown("denied")}
    if name not in wanted.nodes:
        return {"config": Secret("x"), "config_digest": "x"}
    node = wanted.nodes[name]
    if not differing:
        return {"config": node.config, "config_digest": node.digest}
    documents = [dict(one) for one in load_config(node.config.reveal(), name)]
    for path, value in dict(differing).items():
        _put(documents, path, value)
    return {"config": Secret(emit(documents)), "config_digest": config_digest(documents)}


def _put(documents: list[dict[str, Any]], path: str, value: Any) -> None:
    """`machine.sysctls` in the main document, `HostnameConfig/hostname` in another."""
    kind, _, inner = path.rpartition("/")
    place: Any = next(one for one in documents if one.get("kind", "") == kind)
    *steps, last = inner.split(".")
    for step in steps:
        place[step] = dict(place.get(step) or {})
        place = place[step]
    place[last] = value
