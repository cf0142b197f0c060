"""What all controllers share: a queue of objects to look at, waits on the lab's timeline, an index, events.

    work = Work(world, kubernetes)
    work.start(controllers)      # everything there is goes through them once
    work.step()                  # some of the queue; a changed object queues what follows

Controllers remember nothing that is not in objects or machines, so a lab that was killed finds it all again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from talosmith_lab import kubernetes as nodes
from talosmith_lab.clock import Key, Wait
from talosmith_lab.kube.api import Api
from talosmith_lab.kube.cluster import EtcdRefusal, Kubernetes, stamp
from talosmith_lab.kube.controllers.events import Events
from talosmith_lab.kube.controllers.index import Index
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.storage import Change
from talosmith_lab.machine import Machine
from talosmith_lab.world import World

TURN = "kube"  # on the timeline: it is the controllers' turn
_WAIT = "kube:"
_AT_A_STRETCH = 16

MANAGER = How(
    manager="kube-controller-manager",
    user="system:kube-controller-manager",
    groups=("system:masters",),
)


class Controller:
    """One kind of work. `noticed` says which keys are to be looked at, `reconcile` does it."""

    name: ClassVar[str]
    watches: ClassVar[tuple[Kind, ...]] = ()
    watches_all: ClassVar[bool] = False

    def __init__(self, work: Work) -> None:
        self.work = work
        self.api = work.api

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        return ()

    def machine_changed(self, name: str) -> Iterable[str]:
        """Keys to look at after something about a machine is different."""
        return ()

    def reconcile(self, key: str) -> None:
        raise NotImplementedError

    def elapsed(self, what: str, key: str) -> None:
        """A wait is over. What was waited for may no longer be wanted."""
        self.reconcile(key)


class Work:
    def __init__(self, world: World, kubernetes: Kubernetes) -> None:
        self.world = world
        self.kubernetes = kubernetes
        self.api = Api(kubernetes)
        self.index = Index()
        self.events = Events(self.api)
        self.controllers: dict[str, Controller] = {}
        self._queue: dict[tuple[str, str], None] = {}
        self._watching: dict[str, list[Controller]] = {}
        self._stalled = False  # etcd takes nothing; something has to happen first

    @property
    def uid(self) -> str:
        return self.kubernetes.cluster.uid

    def settle(self) -> None:
        """What follows at once does so; for the rest there will be a turn."""
        if Key(self.uid, TURN) in self.world.timeline or not self._queue or self._stalled or not self.active:
            return
        self.step()
        if self._queue and not self._stalled:
            self.world.timeline.ensure(Key(self.uid, TURN), self.world.now())

    def start(self, controllers: Iterable[Controller]) -> None:
        self.controllers = {one.name: one for one in controllers}
        storage = self.kubernetes.storage
        for key, stored in list(storage.under("/registry/")):
            kind = self._kind(stored.obj)
            if kind is not None:
                self._changed(kind.root, Change(stored.revision, key, stored, None))
        storage.on_change = self._changed
        for name in self.world.machines:
            self.machine_changed(name)

    # What has changed

    def _changed(self, root: str, change: Change) -> None:
        before = change.before.obj if change.before is not None else None
        now = change.now.obj if change.now is not None else None
        kind = self._kind(now or before or {})
        if kind is None:
            return
        self.index.changed(kind, change.key, before, now)
        for controller in self._watchers(kind):
            for key in controller.noticed(kind, before, now):
                self._queue[controller.name, key] = None

    def _watchers(self, kind: Kind) -> list[Controller]:
        found = self._watching.get(kind.root)
        if found is None:
            found = [
                one
                for one in self.controllers.values()
                if one.watches_all or any(watched.root == kind.root for watched in one.watches)
            ]
            self._watching[kind.root] = found
        return found

    def _kind(self, obj: Obj) -> Kind | None:
        return self.kubernetes.kinds.named(obj.get("apiVersion", ""), obj.get("kind", ""))

    def machine_changed(self, name: str) -> None:
        self._stalled = False
        for controller in self.controllers.values():
            for key in controller.machine_changed(name):
                self._queue[controller.name, key] = None

    def look_at(self, controller: str, *keys: str) -> None:
        for key in keys:
            self._queue[controller, key] = None

    # Who works

    @property
    def control_planes(self) -> list[Machine]:
        """Those whose API server answers with this cluster's etcd."""
        cluster = self.kubernetes.cluster
        return [
            machine
            for machine in self.world.control_planes(cluster.talos_id)
            if nodes.serves_api(self.world, machine) and self.world.etcd_of(machine) is cluster
        ]

    @property
    def active(self) -> bool:
        cluster = self.kubernetes.cluster
        return any(
            nodes.serves_api(self.world, machine) and self.world.etcd_of(machine) is cluster
            for machine in self.world.control_planes(cluster.talos_id)
        )

    def step(self) -> None:
        """A few of the queue, then others have their turn."""
        if not self.active:
            return
        self.world.unsettled_kubernetes[self.uid] = None
        for _ in range(_AT_A_STRETCH):
            if not self._queue:
                return
            name, key = next(iter(self._queue))
            del self._queue[name, key]
            try:
                self.controllers[name].reconcile(key)
            except EtcdRefusal:
                self._queue[name, key] = None
                self._stalled = True
                return
            except ApiError:
                continue  # refused for good, such as in a namespace that is going; changes bring it back

    # Time

    def after(
        self, controller: Controller, what: str, key: str, wait: Wait, *of: object, factor: float = 1.0
    ) -> None:
        """Let the controller's wait for `what` be over after a while, unless it is under way."""
        self.wait(controller, what, key, self.world.pace.duration(wait, key, *of) * factor)

    def wait(self, controller: Controller, what: str, key: str, seconds: float) -> None:
        self.world.timeline.ensure(self._wait_key(controller, what, key), self.world.later(seconds))

    def cancel(self, controller: Controller, what: str, key: str) -> None:
        self.world.timeline.cancel(self._wait_key(controller, what, key))

    def waits(self, controller: Controller, what: str, key: str) -> bool:
        return self._wait_key(controller, what, key) in self.world.timeline

    def _wait_key(self, controller: Controller, what: str, key: str) -> Key:
        return Key(self.uid, f"{_WAIT}{controller.name}:{what}:{key}")

    def elapsed(self, what: str) -> None:
        """A wait on the timeline is over. Without an API it begins again when there is one."""
        name, told, key = what.removeprefix(_WAIT).split(":", 2)
        if not self.active:
            self.look_at(name, key)
            return
        try:
            self.controllers[name].elapsed(told, key)
        except EtcdRefusal:
            self.look_at(name, key)
            self._stalled = True
        except ApiError:
            return

    @property
    def now(self) -> str:
        return stamp(self.world.now())

    # Writing

    def set_status(self, kind: Kind, obj: Obj, status: Obj) -> None:
        """What controllers themselves know of an object, written without the detour that clients' words take."""
        if obj.get("status") != status:
            self.put(kind, {**obj, "status": status})

    def put(self, kind: Kind, obj: Obj) -> Obj:
        metadata = {**obj["metadata"]}
        key = kind.key(metadata.get("namespace", ""), metadata["name"])
        return self.api.put(kind, key, {**obj, "metadata": metadata})

    def ensure(self, kind: Kind, obj: Obj, how: How = MANAGER) -> None:
        """Make it unless it is there."""
        metadata = obj["metadata"]
        if self.api.find(kind, metadata["name"], metadata.get("namespace", "")) is None:
            self.api.create(kind, obj, metadata.get("namespace", ""), how=how)

    def event(self, obj: Obj, reason: str, message: str, **about: str) -> None:
        self.events.tell(obj, reason, message, **about)
