"""In which form a client gets its answer: JSON or YAML, the object itself, a table of it, or its metadata only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.storage import Stored
from talosmith_lab.server.kube.http import Answer, Request

JSON, YAML = "application/json", "application/yaml"
PARTIAL = "PartialObjectMetadata"
_TAKEN = "application/json, application/yaml"
_META_SHAPES = ("Table", PARTIAL, f"{PARTIAL}List")
_META_VERSIONS = ("v1", "v1beta1")
_OPENAPI_V2 = "application/com.github.proto-openapi.spec.v2"
_BROWSERS = ("curl", "Wget", "Mozilla/")  # people read what these get


@dataclass(frozen=True, slots=True)
class Form:
    media: str = JSON
    shape: str = ""  # Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList
    version: str = ""
    pretty: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether stored bytes can be sent as they are."""
        return self.media == JSON and not self.shape and not self.pretty


def form_of(request: Request) -> Form:
    agent = request.headers.get("user-agent", "")
    asked = request.query.get("pretty")
    pretty = asked in ("1", "true") if asked is not None else agent.startswith(_BROWSERS)
    return _form(request.headers.get("accept", ""), pretty)


@lru_cache(maxsize=256)
def _form(accept: str, pretty: bool) -> Form:
    if not accept:
        return Form(pretty=pretty)
    for clause in accept.split(","):
        media, _, rest = clause.strip().partition(";")
        options = dict(part.strip().partition("=")[::2] for part in rest.split(";") if part.strip())
        if options.get("as", "") in _META_SHAPES and options.get("v") not in _META_VERSIONS:
            continue  # of an unknown version, so the client's next choice counts
        if media in (JSON, YAML, "application/*", "*/*") or media.startswith(_OPENAPI_V2):
            chosen = media if media in (JSON, YAML) else JSON
            return Form(chosen, options.get("as", ""), options.get("v", ""), pretty)
    message = f"406: Not Acceptable\n\nAvailable representations: {_TAKEN}"
    raise ApiError(406, "NotAcceptable", message, {})


def answer(obj: Any, form: Form, code: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    if form.media == YAML:
        text = yaml.dump(obj, Dumper=yaml.CSafeDumper, sort_keys=True, default_flow_style=False).encode()
        return Answer(code, text, YAML, tuple(headers))
    return Answer(code, encoded(obj, form), JSON, tuple(headers))


def encoded(obj: Any, form: Form) -> bytes:
    if form.pretty:
        return json.dumps(obj, indent=2, ensure_ascii=False).encode()
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def error(problem: ApiError, form: Form) -> Answer:
    headers = [("Retry-After", str(problem.retry_after))] if problem.retry_after else []
    return answer(problem.status, Form(form.media, pretty=form.pretty), problem.code, headers)


def listed(kind: Kind, items: list[Stored], metadata: Obj) -> bytes:
    """A list out of stored bytes, without reading them again."""
    head = json.dumps({"kind": kind.listed_as, "apiVersion": kind.api_version, "metadata": metadata})
    if kind.custom:
        inner = b",".join(item.value for item in items)
    else:
        # The items of a list do not say what they are.
        skipped = len(f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",')
        inner = b",".join(b"{" + item.value[skipped:] for item in items)
    return head[:-1].encode() + b',"items":[' + inner + b"]}\n"


def partial(obj: Obj) -> Obj:
    return {"kind": PARTIAL, "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
