"""What is done with objects: get, list, watch, create, update, patch, delete."""

from __future__ import annotations

from collections.abc import Awaitable

from talosmith_lab.kube.access import User
from talosmith_lab.kube.api import How
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind
from talosmith_lab.server.kube import asking, formats
from talosmith_lab.server.kube.call import Call
from talosmith_lab.server.kube.http import Answer
from talosmith_lab.server.kube.routes import Route
from talosmith_lab.server.kube.streams import WatchStream, expired

_DEPRECATED = {
    "endpoints": ("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",),
}


def act(call: Call, kind: Kind, route: Route, user: User) -> Answer | Awaitable[None]:
    api, namespace = call.api, route.namespace if kind.namespaced else ""
    call.warnings += _DEPRECATED.get(kind.resource, ())
    if route.verb == "get":
        stored = api.stored(kind, route.name, namespace)
        return Answer(200, stored.value + b"\n") if call.form.is_plain else call.shown(kind, stored.obj)
    if route.verb == "list":
        return _listed(call, kind, namespace)
    if route.verb == "watch":
        return _watched(call, kind, namespace, route.name)
    how = call.how(user)
    if route.verb == "create":
        return call.shown(kind, api.create(kind, call.object(kind), namespace, how=how), 201)
    if route.verb == "update":
        obj = call.named_object(kind, route.name)
        return call.shown(kind, api.update(kind, obj, namespace, how=how))
    if route.verb == "patch":
        return patched(call, kind, route, namespace, "", how)
    options = asking.delete_options(call.request, call.body())
    if route.verb == "delete":
        return call.shown(kind, api.delete(kind, route.name, namespace, options=options, how=how))
    query = call.request.query
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    gone = api.delete_collection(kind, namespace, labels=labels, fields=fields, options=options, how=how)
    return formats.answer(gone, call.form)


def patched(call: Call, kind: Kind, route: Route, namespace: str, subresource: str, how: How) -> Answer:
    content_type = call.content_type
    force = asking.check_patch(call.request, content_type)
    obj, created = call.api.apply_patch(
        kind, route.name, namespace, content_type, call.request.body, subresource, force, how
    )
    return call.shown(kind, obj, 201 if created else 200)


def _listed(call: Call, kind: Kind, namespace: str) -> Answer:
    query = call.request.query
    asking.check_reading(query)
    page = call.api.listing(
        kind,
        namespace,
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=asking.number(query.get("limit", "")),
        continue_=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        exact=query.get("resourceVersionMatch") == "Exact",
    )
    metadata = page.metadata
    if call.form.is_plain:
        return Answer(200, formats.listed(kind, page.items, metadata))
    items = [stored.obj for stored in page.items]
    if call.form.shape == "Table":
        return formats.answer(call.tables.table(kind, items, metadata), call.form)
    if call.form.shape.startswith(formats.PARTIAL):
        found = [formats.partial(one) for one in items]
        kind_of = {"kind": f"{formats.PARTIAL}List", "apiVersion": "meta.k8s.io/v1"}
        return formats.answer({**kind_of, "metadata": metadata, "items": found}, call.form)
    whole = {"kind": kind.listed_as, "apiVersion": kind.api_version, "metadata": metadata, "items": items}
    return formats.answer(whole, call.form)


def _watched(call: Call, kind: Kind, namespace: str, name: str) -> Awaitable[None]:
    query = call.request.query
    asking.check_reading(query)
    fields = query.get("fieldSelector", "")
    if name:
        fields = ",".join(filter(None, (fields, f"metadata.name={name}")))
    send_initial = query.get("sendInitialEvents") in ("1", "true")
    bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
    try:
        watch = call.api.watch(
            kind,
            namespace,
            since=asking.watch_start(query),
            labels=query.get("labelSelector", ""),
            fields=fields,
            bookmarks=bookmarks,
            initial=send_initial,
        )
    except ApiError as problem:
        if problem.reason != "Expired":
            raise
        return expired(call.exchange, problem)
    stream = WatchStream(
        api=call.api,
        hub=call.app.hub,
        kind=kind,
        watch=watch,
        form=call.form,
        tables=call.tables,
        bookmarks=bookmarks,
        initial_end=send_initial and bookmarks,
        seconds=float(asking.number(query.get("timeoutSeconds", ""))),
        cut=call.app.cuts_watch(kind.plural),
    )
    return stream.run(call.exchange)
