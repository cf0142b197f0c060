"""One control plane's API server: what a request asks for, may it, and what goes wrong on purpose."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable

from talosmith.providers.lab.faults import US
from talosmith.providers.lab.process import PaceName
from talosmith_lab.kube import reviews
from talosmith_lab.kube.access import User, Wish
from talosmith_lab.kube.cluster import Kubernetes, NoQuorum, kubernetes_of
from talosmith_lab.kube.errors import ApiError, no_such_method, no_such_resource, too_many_requests
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.kube import formats, objects, parts, paths, routes
from talosmith_lab.server.kube.call import Call
from talosmith_lab.server.kube.formats import Form
from talosmith_lab.server.kube.http import Answer, Exchange, Request
from talosmith_lab.server.kube.hub import Hub
from talosmith_lab.server.kube.routes import Route

_ETCD_PATIENCE: dict[PaceName, float] = {"instant": 0.0, "fast": 0.5, "realistic": 7.0}


class App:
    """Answers for one machine. Certificates have been looked at already."""

    def __init__(self, engine: Engine, hub: Hub, machine: str) -> None:
        self.engine = engine
        self.hub = hub
        self.machine = machine

    @property
    def config(self) -> NodeConfig:
        machine = self.engine.world.machines[self.machine]
        config = self.engine.world.config(machine)
        assert config is not None  # noqa: S101 - it serves the API, so it has one
        return config

    def _kubernetes(self) -> Kubernetes | None:
        machine = self.engine.world.machines.get(self.machine)
        cluster = self.engine.world.etcd_of(machine) if machine is not None else None
        return kubernetes_of(self.engine.world, cluster) if cluster is not None else None

    def handle(self, request: Request, exchange: Exchange, certificate: User | None) -> Answer | Awaitable[None]:
        if not self.engine.world.talk(US, self.machine):
            return _silence()
        kubernetes = self._kubernetes()
        if kubernetes is None:
            return Answer(503, b"", "text/plain")
        route = routes.route_of(request)
        call = Call(self, kubernetes, request, exchange, route, certificate)
        world, wanted = self.engine.world, f"{route.verb} {route.plural}" if route else request.path
        slow = world.strike("kube-slow", self.machine, wanted)
        busy = world.strike("kube-busy", self.machine, wanted)
        lost = world.strike("kube-time-out", self.machine, wanted)
        if slow is None and busy is None and lost is None:
            return _answered(call)
        return _unlucky(call, slow.seconds if slow else 0.0, int(busy.seconds or 1) if busy else 0, lost is not None)

    def cuts_watch(self, plural: str) -> bool:
        return self.engine.world.strike("watch-cut", self.machine, f"watch {plural}") is not None


async def _silence() -> None:
    """What comes from a server that is cut off."""
    await asyncio.get_running_loop().create_future()


async def _unlucky(call: Call, wait: float, busy: int, lost: bool) -> None:
    """What faults do to a request: it takes longer, is rejected, or is never answered."""
    if wait:
        await asyncio.sleep(wait)
    if busy:
        problem = too_many_requests("too many requests, please try again later", busy)
        made: Answer | Awaitable[None] = formats.error(problem, Form())
    else:
        made = _answered(call)
    if lost:
        await _silence()
    if isinstance(made, Answer):
        call.exchange.answer(made)
    else:
        await made


def _answered(call: Call) -> Answer | Awaitable[None]:
    before = call.kubernetes.storage.revision
    try:
        call.form = formats.form_of(call.request)
        made = _answer(call, call.user())
    except NoQuorum as problem:
        return _later(call, problem)
    except ApiError as problem:
        made = formats.error(problem, call.form)
    finally:
        if call.kubernetes.storage.revision != before:
            call.app.engine.commit()
    if call.warnings and isinstance(made, Answer):
        headers = tuple(("Warning", f"299 - {json.dumps(one, ensure_ascii=False)}") for one in call.warnings)
        made = dataclasses.replace(made, headers=(*made.headers, *headers))
    return made


async def _later(call: Call, problem: ApiError) -> None:
    """etcd is given time to answer before a server gives up."""
    await asyncio.sleep(_ETCD_PATIENCE[call.app.engine.world.pace.name])
    call.exchange.answer(formats.error(problem, call.form))


def _answer(call: Call, user: User) -> Answer | Awaitable[None]:
    route, kinds = call.route, call.kubernetes.kinds
    if route is None:
        call.need(user, Wish(verb=call.request.method.lower(), path=call.request.path))
        return paths.answer(call)
    kind = kinds.at(route.group, route.version, route.plural)
    if kind is None or (route.namespace and not kind.namespaced and kind.plural != "namespaces"):
        if not any((one.group, one.version) == (route.group, route.version) for one in kinds):
            return paths.NOT_FOUND
        call.need(user, route.wish)
        raise no_such_resource()
    call.need(user, route.wish)
    if route.subresource:
        return parts.act(call, kind, route, user)
    if route.verb not in kind.verbs or _is_nowhere(route, namespaced=kind.namespaced):
        raise no_such_method()
    if reviews.is_review(kind):
        body = call.object(kind)
        made = reviews.answer(call.kubernetes, kind, body, user, route.namespace, call.by_token)
        return formats.answer(made, call.form, 201)
    return objects.act(call, kind, route, user)


def _is_nowhere(route: Route, *, namespaced: bool) -> bool:
    """Something new in no namespace in particular."""
    return route.verb == "create" and namespaced and not route.namespace
