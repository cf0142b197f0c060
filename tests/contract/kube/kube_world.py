"""A Kubernetes API as the contract's tests ask it: raw HTTP, so that the answers themselves are compared.

Nothing here knows whether a real API server or the lab answers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from talosmith.desired.bundle import Bundle
from talosmith.kube.credentials import SERVER_NAME, Credentials

Obj = dict[str, Any]

PATIENCE = 180.0  # seconds; costs nothing where all is well
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Answer:
    code: int
    headers: httpx2.Headers
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    def ok(self) -> Any:
        """The body of an answer that must be a success."""
        assert self.code < 300, f"{self.code}: {self.text}"
        return self.body

    @property
    def refusal(self) -> tuple[int, str, str, Any]:
        """Code, reason, message and details of an answer that must be a refusal."""
        body = self.body
        assert self.code >= 400, f"{self.code}: {self.text}"
        assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
        assert body["code"] == self.code
        return self.code, body.get("reason", ""), body["message"], body.get("details")

    @property
    def why(self) -> tuple[int, str, str]:
        return self.refusal[:3]

    @property
    def warnings(self) -> list[str]:
        return self.headers.get_list("warning")


@dataclass
class KubeWorld:
    """One API server and one user of it."""

    name: str
    address: str
    bundle: Bundle
    credentials: Credentials
    _clients: list[httpx2.Client] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, address: str, bundle: Bundle) -> KubeWorld:
        return cls(name, address, bundle, Credentials.from_bundle(bundle))

    def user(self, user: str, *groups: str) -> KubeWorld:
        """The same server, asked by somebody with a certificate of the cluster's authority."""
        return self._with(Credentials.from_bundle(self.bundle, user=user, groups=groups))

    @property
    def anonymous(self) -> KubeWorld:
        return self._with(Credentials(self.bundle.k8s.certificate, server_name=SERVER_NAME))

    def _with(self, credentials: Credentials) -> KubeWorld:
        return KubeWorld(self.name, self.address, self.bundle, credentials)

    @property
    def client(self) -> httpx2.Client:
        if not self._clients:
            self._clients.append(
                httpx2.Client(
                    base_url=f"https://{self.address}",
                    verify=self.credentials.context(),
                    trust_env=False,
                    timeout=PATIENCE,
                )
            )
        return self._clients[0]

    def close(self) -> None:
        while self._clients:
            self._clients.pop().close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        headers: dict[str, str] | None = None,
        **params: str | int,
    ) -> Answer:
        """`body` is data, or text that is sent as it stands. Parameters of the query are keywords."""
        given = {"Accept": accept, "User-Agent": "contract/1", **(headers or {})}
        content = body if isinstance(body, str) or body is None else json.dumps(body)
        if content is not None:
            given["Content-Type"] = content_type
        end = time.monotonic() + PATIENCE
        while True:
            response = self.client.request(
                method,
                path,
                content=content,
                headers=given,
                params={name.rstrip("_"): str(value) for name, value in params.items()} or None,
                extensions={"sni_hostname": SERVER_NAME},
            )
            if not _is_for_now(method, response) or time.monotonic() > end:
                return Answer(response.status_code, response.headers, response.text)
            time.sleep(0.1)

    def get(self, path: str, **how: Any) -> Answer:
        return self.call("GET", path, **how)

    def create(self, path: str, body: Any, **how: Any) -> Answer:
        return self.call("POST", path, body, **how)

    def replace(self, path: str, body: Any, **how: Any) -> Answer:
        return self.call("PUT", path, body, **how)

    def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH, **how: Any) -> Answer:
        return self.call("PATCH", path, body, content_type=content_type, **how)

    def apply(self, path: str, body: Any, manager: str, **how: Any) -> Answer:
        return self.call("PATCH", path, body, content_type=APPLY_PATCH, fieldManager=manager, **how)

    def delete(self, path: str, options: Obj | None = None, **how: Any) -> Answer:
        return self.call("DELETE", path, options, **how)

    @contextmanager
    def watch(self, path: str, *, accept: str = "application/json", **params: str | int) -> Iterator[Iterator[Obj]]:
        """The events as they come; the stream ends when the server ends it or the block is left."""
        end = time.monotonic() + PATIENCE
        while True:
            with self.client.stream(
                "GET",
                path,
                params={"watch": "true", **{name: str(value) for name, value in params.items()}},
                # Kubernetes 1.37 compresses a list that is read by a watch, as one gzip file after the other. The
                # HTTP client reads the first of them alone.
                headers={"Accept": accept, "Accept-Encoding": "identity"},
                extensions={"sni_hostname": SERVER_NAME},
            ) as response:
                if not _is_for_now("GET", response) or time.monotonic() > end:
                    assert response.status_code == 200, response.read()
                    yield (json.loads(line) for line in response.iter_lines())
                    return
            time.sleep(0.1)


def _is_for_now(method: str, response: httpx2.Response) -> bool:
    """Whether the server asks to be asked again: it has yet to read what it serves, as of a kind that is new."""
    if "retry-after" not in response.headers:
        return False
    return response.status_code == 429 or (method == "GET" and response.status_code >= 500)


def until(ask: Callable[[], Any], holds: Callable[[Any], Any], seconds: float = PATIENCE) -> Any:
    """What was asked for, once it holds: some things follow a moment after what they follow from."""
    end = time.monotonic() + seconds
    while not holds(found := ask()):
        assert time.monotonic() < end, f"still after {seconds} s: {found}"
        time.sleep(0.05)
    return found


def names(listed: Obj) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Obj:
    made: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    if data is not None:
        made["data"] = data
    return made


def pod(name: str, **metadata: Any) -> Obj:
    """A pod that no scheduler of the world looks at."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example.org/c:1"}]},
    }


def deployment(name: str, replicas: int = 0, **metadata: Any) -> Obj:
    """Without pods, so that it does not matter whether anybody is there to make them."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "example.org/c:1"}]},
            },
        },
    }
