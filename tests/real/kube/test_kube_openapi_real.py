"""The real kubectl reading our OpenAPI: a real API server answers everything else."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from talosmith_lab.kube import openapi
from talosmith_lab.kube.kinds import Kind, builtin
from talosmith_lab.kube.schema import Obj, Schema
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE
from tests.real.kube.shape_steps import bases
from tests.real.kube.shapes import Real

WIDGET = Kind(
    group="lab.test",
    version="v1",
    kind="Widget",
    plural="widgets",
    verbs=("get", "list", "create", "update", "patch", "delete"),
    custom=True,
)
WIDGET_SCHEMA = Schema.from_crd(
    {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
)
KINDS = (*builtin(), WIDGET)
GROUPS = {kind.group for kind in builtin()}
SCHEMAS = {"lab.test/v1 Widget": WIDGET_SCHEMA}


@dataclass
class Kubectl:
    binary: Path
    server: str  # with our OpenAPI
    kubeconfig: Path  # of the real one
    cache: Path
    asked: list[str]

    def __call__(self, *arguments: str, stdin: str = "", real: bool = False) -> subprocess.CompletedProcess[str]:
        where = [f"--kubeconfig={self.kubeconfig}"] if real else [f"--server={self.server}", "--kubeconfig=/dev/null"]
        cache = self.cache / ("real" if real else "ours")
        return subprocess.run(
            [self.binary, f"--cache-dir={cache}", *where, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={"HOME": str(self.cache), "PATH": os.environ["PATH"]},
        )


@pytest.fixture(scope="module")
def kubectl(
    kube_apiserver: ApiServer, peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            path = self.path.partition("?")[0]
            if path.startswith("/openapi"):
                asked.append(path)
                status, content = _described(path)
            else:
                status, content = self._forwarded(body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _forwarded(self, body: bytes | None) -> tuple[int, bytes]:
            one = Real(kube_apiserver.address, kube_apiserver.kubeconfig.parent)
            status, answer = one(self.command, self.path, body, self.headers.get("Content-Type", "application/json"))
            if self.path.partition("?")[0] == "/apis":
                # What other tests define may be gone when it is asked for, which kubectl complains of.
                answer["groups"] = [group for group in answer["groups"] if group["name"] in GROUPS]
            return status, (answer if isinstance(answer, str) else json.dumps(answer)).encode()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # kubectl asks for all groups at once

    with Server(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        folder = tmp_path_factory.mktemp("kubectl")
        address = f"http://127.0.0.1:{server.server_port}"
        yield Kubectl(peer("kubectl"), address, kube_apiserver.kubeconfig, folder, asked)
        server.shutdown()


def _described(path: str) -> tuple[int, bytes]:
    if path == "/openapi/v3":
        return 200, json.dumps(openapi.index(KINDS, SCHEMAS)).encode()
    found = openapi.document(path.removeprefix("/openapi/v3/"), KINDS, SCHEMAS)
    return (404, b"{}") if found is None else (200, json.dumps(found).encode())


def _fields(text: str) -> list[str]:
    """What is told of fields, without the prose that only the real server has."""
    return text[text.index("FIELDS:") :].splitlines()


EXPLAINED = (
    "pods",
    "deployments",
    "services",
    "nodes",
    "cronjobs",
    "ingresses",
    "networkpolicies",
    "leases",
    "secrets",
)


@pytest.mark.parametrize("kind", EXPLAINED)
def test_explain_tells_the_same_fields(kubectl: Kubectl, kind: str) -> None:
    ours, real = kubectl("explain", kind, "--recursive"), kubectl("explain", kind, "--recursive", real=True)
    assert ours.returncode == 0, ours.stderr
    assert _fields(ours.stdout) == _fields(real.stdout)


def test_explain_of_one_field(kubectl: Kubectl) -> None:
    ours, real = (
        kubectl("explain", "deploy.spec.strategy.rollingUpdate.maxSurge", real=where) for where in (False, True)
    )
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout.splitlines()[:5] == real.stdout.splitlines()[:5]
    assert "FIELD: maxSurge <IntOrString>" in ours.stdout
    assert '"nope" does not exist' in kubectl("explain", "deploy.spec.nope").stderr


def test_client_side_apply_and_diff_merge_by_our_shapes(kubectl: Kubectl, unique: str) -> None:
    asked_before = len(kubectl.asked)
    assert kubectl("create", "namespace", unique).returncode == 0
    obj: Obj = bases()["Deployment"]
    obj["metadata"] |= {"name": "d", "namespace": unique}
    first = kubectl("apply", "-f", "-", stdin=json.dumps(obj))
    assert first.stdout == "deployment.apps/d created\n", first.stderr
    # Somebody else's container is not in the file, so a merge by name leaves it; ours is changed, the other one goes.
    other = {"spec": {"template": {"spec": {"containers": [{"name": "theirs", "image": "t"}]}}}}
    assert kubectl("patch", "-n", unique, "deploy", "d", "-p", json.dumps(other)).returncode == 0
    containers = obj["spec"]["template"]["spec"]["containers"]
    containers[0]["image"] = "a:2"
    del containers[1]
    shown = kubectl("diff", "-f", "-", stdin=json.dumps(obj))
    assert shown.returncode == 1, shown.stderr
    assert "+      - env" not in shown.stdout
    assert "a:2" in shown.stdout
    second = kubectl("apply", "-f", "-", stdin=json.dumps(obj))
    assert second.stdout == "deployment.apps/d configured\n", second.stderr
    assert second.stderr == ""
    live = json.loads(kubectl("get", "-n", unique, "deploy", "d", "-o", "json").stdout)
    found = {one["name"]: one["image"] for one in live["spec"]["template"]["spec"]["containers"]}
    assert found == {"main": "a:2", "theirs": "t"}
    assert "/openapi/v3/apis/apps/v1" in kubectl.asked[asked_before:]
    assert not [path for path in kubectl.asked if path.startswith("/openapi/v2")]


def test_server_side_apply_and_strict_validation(kubectl: Kubectl, unique: str) -> None:
    assert kubectl("create", "namespace", unique).returncode == 0
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": unique},
        "data": {"a": "b"},
    }
    applied = kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(obj))
    assert applied.stdout == "configmap/c serverside-applied\n", applied.stderr
    wrong = {**obj, "metadata": {"name": "d", "namespace": unique}, "dta": {}}
    refused = kubectl("create", "--validate=strict", "-f", "-", stdin=json.dumps(wrong))
    assert refused.returncode == 1
    assert 'strict decoding error: unknown field "dta"' in refused.stderr


def test_documents_have_custom_kinds() -> None:
    document = openapi.document("apis/lab.test/v1", KINDS, SCHEMAS)
    assert document is not None
    name = "test.lab.v1.Widget"
    shape = document["components"]["schemas"][name]
    assert shape["properties"]["spec"]["properties"] == {"size": {"type": "integer"}}
    assert "/apis/lab.test/v1/namespaces/{namespace}/widgets/{name}" in document["paths"]
    index = openapi.index(KINDS, SCHEMAS)["paths"]
    assert index["apis/lab.test/v1"] != openapi.index(KINDS, {})["paths"]["apis/lab.test/v1"]


def test_every_reference_in_a_document_leads_somewhere(kube_apiserver: ApiServer) -> None:
    real = Real(kube_apiserver.address, kube_apiserver.kubeconfig.parent)
    _, theirs = real("GET", "/openapi/v3")
    for place in openapi.index(builtin(), {})["paths"]:
        assert place in theirs["paths"]
        document = openapi.document(place, builtin(), {})
        assert document is not None
        text = json.dumps(document)
        for reference in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
            assert reference in document["components"]["schemas"], reference
