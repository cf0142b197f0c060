"""Makes the lab's knowledge of Kubernetes' kinds from a real API server: `python -m tools.kube_schemas`.

A real etcd and kube-apiserver (peers) are started on loopback and asked what they serve; what is kept is names, types
and the rules for merging, never prose. The result is committed; a test asks a real server again and compares.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import secrets
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind
from tools.kube_zeros import UNWANTED_PLUGINS, mark_zeros
from tools.peers import find
from tools.ports import held_port

FOLDER = Path(__file__).parent.parent / "src/talosmith_lab/kube/data"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PATIENCE = 300  # seconds; a busy machine may take many times the usual eight

Fetch = Callable[[str, str], Any]  # a path and what is accepted -> the JSON of the answer
Send = Callable[[str, dict[str, Any]], None]  # creates an object at a path, or is refused
Json = dict[str, Any]


def gather(fetch: Fetch, send: Send) -> dict[str, bytes]:
    """The files of data by name, the same bytes whenever the server is the same."""
    kinds = _kinds(fetch)
    schemas = _schemas(fetch)
    mark_zeros(kinds, schemas, send)
    packed = _pack({"schemas": schemas})
    return {"kinds.json": (json.dumps(kinds, indent=1) + "\n").encode(), "schemas.json.gz": packed}


def _pack(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return gzip.compress(text.encode(), 9, mtime=0)


def _kinds(fetch: Fetch) -> list[Json]:
    kinds = []
    for start in ("/api", "/apis"):
        for group in fetch(start, AGGREGATED)["items"]:
            name = group["metadata"].get("name", "")
            for place, version in enumerate(group["versions"]):
                path = f"{start}/{name}/{version['version']}" if name else f"{start}/{version['version']}"
                hashes = {
                    one["name"]: one.get("storageVersionHash", "")
                    for one in fetch(path, "application/json")["resources"]
                }
                kinds += [
                    _kind(name, version["version"], place == 0, resource, hashes[resource["resource"]])
                    for resource in version["resources"]
                ]
    known = {_storage_hash(one["group"], one["version"], one["kind"]): one for one in kinds}
    for one in kinds:
        stored = known.get(one["storageVersionHash"])
        if stored is None and one["storageVersionHash"]:
            stored = one  # as a version that is not served; the lab has only those that are
        one["storage"] = f"{stored['group']}/{stored['version']}".lstrip("/") if stored else ""
    return kinds


def _storage_hash(group: str, version: str, kind: str) -> str:
    """How the server makes its hash of what it stores a kind as."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


def _kind(group: str, version: str, preferred: bool, resource: Json, storage_hash: str) -> Json:
    kind = resource["responseKind"]["kind"]
    return {
        "group": group,
        "version": version,
        "kind": kind,
        "plural": resource["resource"],
        "singular": resource["singularResource"],
        "shortNames": resource.get("shortNames", []),
        "namespaced": resource["scope"] == "Namespaced",
        "categories": resource.get("categories", []),
        "verbs": resource["verbs"],
        "preferred": preferred,
        "storageVersionHash": storage_hash,
        "subresources": [
            {
                "name": one["subresource"],
                "group": one["responseKind"]["group"] or (group if one["responseKind"]["kind"] == kind else ""),
                "version": one["responseKind"]["version"] or version,
                "kind": one["responseKind"]["kind"],
                "verbs": one["verbs"],
            }
            for one in resource.get("subresources", [])
        ],
    }


def _schemas(fetch: Fetch) -> Json:
    kept: Json = {}
    for name, where in fetch("/openapi/v3", "application/json")["paths"].items():
        if name.count("/") < 1 or not name.startswith("api"):
            continue
        document = fetch(where["serverRelativeURL"], "application/json")
        for key, schema in document.get("components", {}).get("schemas", {}).items():
            kept.setdefault(key, _strip(schema))
    return kept


_KEPT = (
    "$ref",
    "type",
    "format",
    "default",
    "enum",
    "required",
    "oneOf",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-unions",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
)


def _strip(schema: Json) -> Json:
    """Without its prose; a reference in an `allOf` of one, which is there for the default beside it, stands alone."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "allOf" in schema:
        (only,) = schema["allOf"]
        kept.update(_strip(only))
    if "properties" in schema:
        kept["properties"] = {name: _strip(one) for name, one in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            kept[key] = _strip(schema[key]) if isinstance(schema[key], dict) else schema[key]
    return kept


@contextlib.contextmanager
def api_server() -> Iterator[tuple[Fetch, Send]]:
    """A real one on loopback with its etcd, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as running:
        folder = Path(scratch)
        token = secrets.token_hex(16)
        (folder / "sa.key").write_text(pki.write_key(pki.new_key(KeyKind.ECDSA_P256)).reveal())
        (folder / "tokens").write_text(f"{token},us,us,system:masters\n")
        # Held as long as the programs run that share them, lest somebody else takes them before.
        etcd_port, port = (running.enter_context(held_port()).getsockname()[1] for _ in range(2))
        etcd = f"http://127.0.0.1:{etcd_port}"
        _run(
            running,
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--socket-reuse-port",
        )
        _run(
            running,
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--permit-port-sharing",
            f"--cert-dir={folder}",
            f"--token-auth-file={folder / 'tokens'}",
            f"--service-account-key-file={folder / 'sa.key'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--endpoint-reconciler-type=none",
            f"--disable-admission-plugins={UNWANTED_PLUGINS}",
        )
        until = time.monotonic() + PATIENCE
        while not (folder / "apiserver.key").exists() and time.monotonic() < until:  # written after the certificate
            time.sleep(0.1)
        context = ssl.create_default_context(cafile=str(folder / "apiserver.crt"))

        def ask(path: str, accept: str = "application/json", body: bytes | None = None) -> bytes:
            headers = {"Authorization": f"Bearer {token}", "Accept": accept, "Content-Type": "application/json"}
            request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", body, headers)
            with urllib.request.urlopen(request, context=context, timeout=PATIENCE) as answer:  # noqa: S310
                return bytes(answer.read())

        def fetch(path: str, accept: str) -> Any:
            return json.loads(ask(path, accept))

        def send(path: str, obj: Json) -> None:
            with contextlib.suppress(urllib.error.HTTPError):
                ask(path, body=json.dumps(obj).encode())

        while True:
            try:
                ask("/readyz", "*/*")
                if _described(fetch) or time.monotonic() > until:
                    break
            except OSError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.2)
        yield fetch, send


def _described(fetch: Fetch) -> bool:
    """Whether there is a description of every group, which comes a moment after the server is ready."""
    groups = fetch("/apis", "application/json")["groups"]
    served = {f"apis/{version['groupVersion']}" for group in groups for version in group["versions"]}
    return bool({"api/v1", *served} <= fetch("/openapi/v3", "application/json")["paths"].keys())


def _run(running: contextlib.ExitStack, name: str, *arguments: str) -> None:
    process = subprocess.Popen(
        [find(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    running.callback(process.wait)
    running.callback(process.kill)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with api_server() as (fetch, send):
        for name, content in gather(fetch, send).items():
            (FOLDER / name).write_bytes(content)
            print(f"{FOLDER / name}: {len(content)} bytes")


if __name__ == "__main__":
    main()
