"""What is answered at paths that are not those of objects: health, version, discovery, OpenAPI."""

from __future__ import annotations

from talosmith_lab import kubernetes as nodes
from talosmith_lab.kube import discovery, openapi
from talosmith_lab.kube.errors import no_such_resource
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.server.kube import asking, formats, health, routes
from talosmith_lab.server.kube.call import Call
from talosmith_lab.server.kube.http import Answer

NOT_FOUND = Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")


def answer(call: Call) -> Answer:
    path = call.request.path.rstrip("/") or "/"
    if path.startswith(health.PATHS):
        etcd = call.kubernetes.member(call.app.machine) is not None
        return health.health(path, verbose="verbose" in call.request.query, etcd=etcd)
    if path in ("/api", "/apis") and call.form.shape == discovery.AGGREGATED:
        return _all_at_once(call, core=path == "/api")
    if path == "/openapi/v2" and "proto-openapi" in call.request.headers.get("accept", ""):
        return Answer(200, openapi.no_v2(), openapi.V2_TYPE)
    found = _found(call, path)
    return formats.answer(found, call.plain_form) if found else NOT_FOUND


def _all_at_once(call: Call, *, core: bool) -> Answer:
    version = call.form.version
    found = discovery.aggregated(call.kubernetes.kinds, core=core, version=version)
    kind = f"application/json;g=apidiscovery.k8s.io;v={version};as={discovery.AGGREGATED}"
    return Answer(200, formats.encoded(found, call.form), kind)


def _found(call: Call, path: str) -> Obj | None:
    kinds, parts = call.kubernetes.kinds, routes.parts_of(path)
    if path == "/version":
        return health.version(nodes.kubernetes_version(call.app.config))
    if path == "/":
        return {"paths": asking.paths(kinds)}
    if parts[0] == "openapi":
        return asking.openapi_document(call.kubernetes, path)
    if parts == ["api"]:
        return discovery.versions(f"{call.app.machine}:6443")
    if parts == ["apis"]:
        return discovery.group_list(kinds)
    if parts[0] == "api" and len(parts) == 2:
        return discovery.resource_list(kinds, "", parts[1])
    if parts[0] != "apis":
        return None
    if len(parts) == 2:
        return discovery.group(kinds, parts[1])
    found = discovery.resource_list(kinds, parts[1], parts[2])
    if found is None and discovery.group(kinds, parts[1]) is not None:
        raise no_such_resource()
    return found
