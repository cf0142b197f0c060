"""What is done with parts of objects: status, scale, eviction, binding, logs, tokens."""

from __future__ import annotations

from collections.abc import Awaitable

from talosmith_lab.kube import subresources
from talosmith_lab.kube.access import User
from talosmith_lab.kube.api import How
from talosmith_lab.kube.errors import bad_request, no_such_method, no_such_resource
from talosmith_lab.kube.kinds import Kind
from talosmith_lab.server.kube import formats
from talosmith_lab.server.kube.call import Call
from talosmith_lab.server.kube.http import Answer
from talosmith_lab.server.kube.objects import patched
from talosmith_lab.server.kube.routes import Route
from talosmith_lab.server.kube.streams import follow_log


def act(call: Call, kind: Kind, route: Route, user: User) -> Answer | Awaitable[None]:
    part = kind.subresources.get(route.subresource)
    if part is None:
        raise no_such_resource()
    if route.verb not in part.verbs:
        raise no_such_method()
    namespace = route.namespace if kind.namespaced else ""
    how, api = call.how(user), call.api
    if route.subresource == "log":
        return _log(call, route.name, namespace)
    if route.subresource == "scale":
        return _scale(call, kind, route, namespace, how)
    if route.verb == "create":
        return _made(call, kind, route, namespace, how)
    if route.verb == "get":
        return call.shown(kind, api.stored(kind, route.name, namespace).obj)
    if route.verb == "patch":
        return patched(call, kind, route, namespace, route.subresource, how)
    if route.verb == "update":
        obj = call.named_object(kind, route.name)
        return call.shown(kind, api.update(kind, obj, namespace, subresource=route.subresource, how=how))
    raise no_such_method()


def _made(call: Call, kind: Kind, route: Route, namespace: str, how: How) -> Answer:
    body, name, api = call.json(), route.name, call.api
    if route.subresource == "eviction":
        return formats.answer(subresources.evict(api, name, namespace, body, how), call.form, 201)
    if route.subresource == "binding":
        return formats.answer(subresources.bind(api, name, namespace, body, how), call.form, 201)
    if route.subresource == "token":
        key = call.app.config.service_account_key
        return formats.answer(subresources.token(api, key, name, namespace, body), call.form, 201)
    found = api.stored(kind, name, namespace).obj
    if kind.plural == "pods" and not found["spec"].get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    raise bad_request(f"the lab's nodes run no containers, so there is no {route.subresource}")


def _scale(call: Call, kind: Kind, route: Route, namespace: str, how: How) -> Answer:
    if route.verb == "get":
        found = subresources.scale_of(call.api, kind, route.name, namespace)
    elif route.verb == "update":
        found = subresources.set_scale(call.api, kind, route.name, namespace, call.json(), how)
    else:
        body, content_type = call.request.body, call.content_type
        found = subresources.patch_scale(call.api, kind, route.name, namespace, content_type, body, how)
    return formats.answer(found, call.plain_form)


def _log(call: Call, name: str, namespace: str) -> Answer | Awaitable[None]:
    query = call.request.query
    container = query.get("container", "")
    if subresources.waits_for_a_node(call.api, name, namespace, container):
        return Answer(204, b"", "text/plain")
    if query.get("follow") in ("1", "true"):
        subresources.log_lines(call.api, name, namespace, container)
        return follow_log(call.api, name, namespace, container, query, call.exchange)
    previous = query.get("previous") in ("1", "true")
    lines = subresources.log_lines(call.api, name, namespace, container, previous=previous)
    text = subresources.log_text(lines, query, call.kubernetes.world.now())
    return Answer(200, text.encode(), "text/plain")
