"""How a real API server writes what is empty: found out by having it write objects back.

Some fields tell an empty text, 0 or false apart from nothing, some are written even if there is nothing in them;
OpenAPI does not say it. The server is sent objects in which every field is empty but there, and objects without any
fields; an admission webhook of ours sees how it writes them again, before it judges them, and refuses them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind

REFERENCE = "#/components/schemas/"
NAME = "zeros.talosmith.test"
# Plugins that would refuse or change objects before the webhook sees them.
UNWANTED_PLUGINS = (
    "CertificateSubjectRestriction,DefaultIngressClass,DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,"
    "PodSecurity,Priority,ResourceQuota,RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition"
)
_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}

_DEPTH = 5  # how many lists stand in each other at most
_SYSTEM = ("managedFields", "deletionTimestamp", "ownerReferences", "generateName", "resourceVersion")

Json = dict[str, Any]
Send = Callable[[str, Json], None]
Often = dict[tuple[str, str], set[str]]  # by struct and property: `null`, `zero`, or nothing if it was not written


def mark_zeros(kinds: list[Json], schemas: Json, send: Send) -> None:
    """Sets `zero` at each property in the schemas that keeps an empty value, and `always` at those always written."""
    often: Often = {}
    with _webhook(send) as seen:
        for kind in kinds:
            name = _schema_name(schemas, kind)
            if name is None or not {"create", "list"} <= set(kind["verbs"]):
                continue
            for lists in (None, *range(_DEPTH)):
                bare = lists is not None
                probe = _empty(schemas[name], schemas, (name,), lists)
                probe |= {"apiVersion": f"{kind['group']}/{kind['version']}".lstrip("/"), "kind": kind["kind"]}
                probe["metadata"] = {} if bare else probe["metadata"]
                probe["metadata"] |= {"name": "zeros", "namespace": "default" if kind["namespaced"] else ""}
                for system in _SYSTEM:
                    probe["metadata"].pop(system, None)
                seen.clear()
                send(_path(kind), probe)
                for written in seen:
                    if bare:
                        _count(probe, written, schemas[name], schemas, often, name)
                    else:
                        _mark(probe, written, schemas[name], schemas)
    for (name, key), answers in often.items():
        if len(answers) == 1 and answers != {""}:
            schemas[name]["properties"][key]["always"] = answers.pop()


def _schema_name(schemas: Json, kind: Json) -> str | None:
    wanted = {key: kind[key] for key in ("group", "version", "kind")}
    named = (name for name, one in schemas.items() if wanted in one.get("x-kubernetes-group-version-kind", ()))
    return next(named, None)


def _path(kind: Json) -> str:
    start = f"/apis/{kind['group']}/{kind['version']}" if kind["group"] else f"/api/{kind['version']}"
    return f"{start}/{'namespaces/default/' if kind['namespaced'] else ''}{kind['plural']}?dryRun=All"


def _empty(schema: Json, schemas: Json, seen: tuple[str, ...], lists: int | None) -> Any:
    """A value with every field there, but empty.

    Or only with the structs that can be in it, those in lists too if no more than so many lists stand around them.
    """
    name = schema.get("$ref", "").removeprefix(REFERENCE)
    bare = lists is not None
    if name:
        if name in seen:
            return None
        if name.endswith(".Quantity"):
            return None if bare else "0"
        return _empty(schemas[name], schemas, (*seen, name), lists)
    if schema.get("format") in ("int-or-string", "date-time") or "oneOf" in schema:
        return None
    if "properties" in schema:
        fields = {key: _empty(one, schemas, seen, lists) for key, one in schema["properties"].items()}
        return {key: value for key, value in fields.items() if value is not None} if bare else fields
    if schema.get("type") == "array":
        if lists is None:
            inner = _empty(schema["items"], schemas, seen, None)
            return [] if inner is None else [inner]
        inner = _empty(schema["items"], schemas, seen, lists - 1) if lists else None
        return [inner] if isinstance(inner, dict) else None
    if bare:
        return None
    return {} if isinstance(schema.get("additionalProperties"), dict) else _ZEROS.get(schema.get("type", ""))


def _count(sent: Any, written: Any, schema: Json, schemas: Json, often: Often, name: str) -> None:
    """Notes of each property, wherever its struct was sent, how it was written though nothing was said."""
    name = schema.get("$ref", "").removeprefix(REFERENCE) or name
    schema = schemas[name] if "$ref" in schema else schema
    if isinstance(sent, dict) and isinstance(written, dict):
        for key, one in schema.get("properties", {}).items():
            if key in sent and key in written:
                _count(sent[key], written[key], one, schemas, often, name)
            elif key not in sent:
                often.setdefault((name, key), set()).add(_nothing(written[key], one) if key in written else "")
    elif isinstance(sent, list) and isinstance(written, list) and sent and written:
        _count(sent[0], written[0], schema["items"], schemas, often, name)


def _nothing(value: Any, schema: Json) -> str:
    """How a field is written that has no value; a default that happens to be empty is a value."""
    if value is None:
        return "null"
    is_quantity = schema.get("$ref", "").endswith(".Quantity")
    is_zero = (
        value == "0" if is_quantity else "default" in schema and not isinstance(value, dict | list) and not value
    )
    return "zero" if is_zero else ""


def _mark(sent: Any, written: Any, schema: Json, schemas: Json) -> None:
    name = schema.get("$ref", "").removeprefix(REFERENCE)
    if name:
        schema = schemas[name]
    if isinstance(sent, dict) and isinstance(written, dict):
        for key, one in schema.get("properties", {}).items():
            value = sent.get(key)
            if key in written and value is not None and not isinstance(value, dict | list) and written[key] == value:
                one["zero"] = True
            elif key in written:
                _mark(value, written[key], one, schemas)
    elif isinstance(sent, list) and isinstance(written, list) and sent and written:
        _mark(sent[0], written[0], schema["items"], schemas)


@contextlib.contextmanager
def _webhook(send: Send) -> Iterator[list[Json]]:
    """What the server writes while the block lasts."""
    seen: list[Json] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(review["request"]["object"])
            answer = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "seen"}}
            kind = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
            body = json.dumps({**kind, "response": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    authority = pki.new_authority("zeros", KeyKind.ECDSA_P256, now=an_hour_ago)
    leaf = pki.new_leaf(
        authority,
        [],
        lifetime=timedelta(days=1),
        usages=[pki.SERVER],
        common_name="zeros",
        names=["127.0.0.1"],
        now=an_hour_ago,
    )
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as scratch:
            pair = Path(scratch) / "pair.pem"
            pair.touch(mode=0o600)
            pair.write_text(leaf.certificate + leaf.key.reveal())
            context.load_cert_chain(pair)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        send(
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            _configuration(server.server_port, authority.certificate),
        )
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zeros"}}
        while not seen:  # until the server knows of the webhook
            send("/api/v1/namespaces?dryRun=All", namespace)
        yield seen
        server.shutdown()


def _configuration(port: int, authority: str) -> Json:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
    hook = {
        "name": NAME,
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(authority.encode()).decode(),
        },
        "rules": [rule],
        "sideEffects": "None",
        "matchPolicy": "Exact",
        "timeoutSeconds": 30,  # the most there is; without an answer an object would seem not to be written at all
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": NAME}, "webhooks": [hook]}
