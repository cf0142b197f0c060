"""The same write done by a real API server and by our functions, and what of the results is to be the same."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith_lab.kube.defaults import copied, fill_defaults
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.json_patch import apply_json_patch
from talosmith_lab.kube.kinds import Kind, builtin
from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, track
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.normal import normalized
from talosmith_lab.kube.schema import Obj, Schema, schema_for
from talosmith_lab.kube.strategic import strategic_merge
from tests.real.kube.patience import PATIENCE

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
NOW = "2026-01-01T00:00:00Z"
_IDLE = 20.0  # seconds; the server closes a connection that nobody uses, as between tests of other files


@dataclass
class Real:
    """One connection to it."""

    address: str
    folder: Path
    _connection: http.client.HTTPSConnection = field(init=False)
    _used: float = 0.0

    def __post_init__(self) -> None:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        context.load_cert_chain(self.folder / "keeper.crt", self.folder / "keeper.key")
        self._connection = http.client.HTTPSConnection(self.address, context=context, timeout=PATIENCE)

    def __call__(
        self, method: str, path: str, body: Any = None, content: str = "application/json"
    ) -> tuple[int, Any]:
        status, answer, _ = self.ask(method, path, body, content)
        return status, answer

    def ask(
        self, method: str, path: str, body: Any = None, content: str = "application/json"
    ) -> tuple[int, Any, list[str]]:
        data = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
        headers = {"Content-Type": content, "Accept": "application/json", "User-Agent": "shapes"}
        if time.monotonic() - self._used > _IDLE:
            self._connection.close()  # the next request makes a new one
        try:
            self._connection.request(method, path, data, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except BaseException:
            self._connection.close()  # half a question or answer is not left to the next who asks
            raise
        self._used = time.monotonic()
        found = json.loads(text) if text.startswith(b"{") else text.decode()
        return answer.status, found, [value for name, value in answer.getheaders() if name == "Warning"]


def kind_of(obj: Obj) -> Kind:
    return next(one for one in builtin() if (one.api_version, one.kind) == (obj["apiVersion"], obj["kind"]))


def path_of(obj: Obj, namespace: str, *, name: bool = True) -> str:
    kind = kind_of(obj)
    start = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{start}{inside}/{kind.plural}" + (f"/{obj['metadata']['name']}" if name else "")


def named(obj: Obj, namespace: str) -> Obj:
    """The object under a name that no other has."""
    name = f"x{uuid.uuid4().hex[:10]}"
    made: Obj = json.loads(json.dumps(obj).replace("NAMESPACE", namespace).replace("NAME", name))
    made["metadata"].setdefault("name", name)
    return made


def shape(obj: Obj) -> Schema:
    found = schema_for(obj)
    assert found is not None
    return found


def created(obj: Obj, manager: str) -> Obj:
    schema = shape(obj)
    made = filled(obj, schema)
    return track(None, made, manager=manager, schema=schema, now=NOW)


def filled(obj: Obj, schema: Schema) -> Obj:
    made: Obj = normalized(fill_defaults(normalized(copied(obj), schema)), schema)
    return made


def patched(live: Obj, content: str, body: Any, manager: str, *, force: bool = False, subresource: str = "") -> Obj:
    """What our functions make of a patch; a refusal is its status."""
    schema = shape(live)
    try:
        if content == APPLY:
            return server_side_apply(
                live, body, manager=manager, force=force, schema=schema, now=NOW, subresource=subresource
            )
        if content == JSON:
            after = apply_json_patch(live, body)
        elif content == MERGE:
            after = merge_patch(live, body)
        else:
            after = strategic_merge(live, body, schema)
        made = filled(after, schema)
        if subresource:
            made = {**live, "status": made.get("status", {}), "metadata": made["metadata"]}
        return track(live, made, manager=manager, schema=schema, now=NOW, subresource=subresource)
    except FieldConflicts as found:
        return ApiError(409, "Conflict", str(found), {"causes": found.causes}).status
    except ApiError as refused:
        return refused.status


def comparable(obj: Obj) -> Obj:
    """Without times, names that the server gives, and what it works out itself while writing."""
    made: Obj = copied(obj)
    if made["kind"] == "Status":
        causes = (made.get("details") or {}).get("causes", [])
        causes.sort(key=lambda one: json.dumps(one, sort_keys=True))  # their order is by chance
        return made
    metadata = made["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp", "generation", "namespace", "selfLink"):
        metadata.pop(name, None)
    entries = metadata.pop("managedFields", [])
    for entry in entries:
        entry.pop("time", None)
    metadata["managedFields"] = sorted(entries, key=lambda one: json.dumps(one, sort_keys=True))
    _forget_worked_out(made)
    return made


def _forget_worked_out(obj: Obj) -> None:
    spec = obj.get("spec") or {}
    kind = obj["kind"]
    if kind == "Pod":
        for name in ("tolerations", "priority", "preemptionPolicy"):
            spec.pop(name, None)
    elif kind == "Service":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"):
            spec.pop(name, None)
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    elif kind == "Job":
        spec.pop("selector", None)
        for metadata in (obj["metadata"], spec["template"]["metadata"]):
            labels = metadata.pop("labels", {})
            kept = {key: text for key, text in labels.items() if not key.endswith(("controller-uid", "job-name"))}
            if kept:
                metadata["labels"] = kept
    elif kind == "Namespace":
        spec.pop("finalizers", None)
    elif kind == "Node" and spec.get("taints"):
        spec["taints"] = [one for one in spec["taints"] if one["key"] != "node.kubernetes.io/not-ready"]
        if not spec["taints"]:
            del spec["taints"]
    elif kind in ("PersistentVolumeClaim", "PersistentVolume"):
        obj["metadata"].pop("finalizers", None)
    if kind not in ("PersistentVolumeClaim", "Node"):
        obj.pop("status", None)
