"""Our tables held against those of a real API server, cell by cell, for the same objects."""

from __future__ import annotations

import base64
import math
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith_lab.kube.kinds import Kind, builtin
from talosmith_lab.kube.tables import table
from tests.contract.kube.kube_world import MERGE_PATCH, TABLE, KubeWorld, Obj, until
from tests.real.kube.signing import certificate_request

pytestmark = pytest.mark.slow

OBJECTS: dict[str, list[Obj]] = yaml.safe_load(
    Path(__file__).with_name("tables_objects.yaml").read_text(encoding="utf-8")
)
MINUTE, HOUR, DAY = 60, 3600, 86400
AGES = [0, 59, 119, 120, 125, 9 * MINUTE + 59, 10 * MINUTE, 61 * MINUTE, 3 * HOUR - 1, 3 * HOUR, 3 * HOUR + MINUTE]
AGES += [8 * HOUR - 1, 8 * HOUR, 47 * HOUR, 2 * DAY, 2 * DAY + HOUR, 8 * DAY - 1, 8 * DAY, 729 * DAY, 730 * DAY]
AGES += [731 * DAY, 2919 * DAY, 2920 * DAY, 4000 * DAY, -30]


def kind_of(plural: str) -> Kind:
    return next(one for one in builtin() if one.plural == plural and one.group != "events.k8s.io" and one.preferred)


def timed(value: Any, now: float, key: str = "") -> Any:
    """With times for the numbers that stand for them."""
    if isinstance(value, dict):
        return {name: timed(inner, now, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [timed(inner, now) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and re.search(r"(Time|At|Timestamp)$", key):
        fraction = ".000000" if key in ("eventTime", "lastObservedTime") else ""
        return f"{datetime.fromtimestamp(now + value, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"
    return value


def put(world: KubeWorld, kind: Kind, path: str, space: str, given: Obj) -> None:
    """The object as it is in the file, its status by its own path."""
    given = timed(given, time.time())
    status, leaving = given.pop("status", None), given.pop("delete", False)
    labels = {**given["metadata"].get("labels", {}), "tables": space}
    if kind.kind == "Event":
        given["involvedObject"]["namespace"] = space
    if not kind.namespaced:
        given["metadata"]["name"] = f"{space}-{given['metadata']['name']}"
    name = given["metadata"]["name"]
    whole = {
        **given,
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**given["metadata"], "labels": labels},
    }
    world.create(path, whole).ok()
    if status is not None:
        world.patch(f"{path}/{name}/status", {"status": status}, MERGE_PATCH).ok()
    if leaving:
        world.delete(f"{path}/{name}").ok()


def held(world: KubeWorld, kind: Kind, path: str, crd: Obj | None = None, **params: str) -> None:
    """The real table, and ours of the objects in it, at any of the seconds between asking and answer."""
    before = time.time()
    real = world.get(path, accept=TABLE, includeObject="Object", **params).ok()
    items = [row["object"] for row in real["rows"]]
    assert items
    moments = [before, *map(float, range(math.ceil(before), math.floor(time.time()) + 1))]
    tables = [table(kind, items, crd=crd, include="Object", now=now) for now in moments]
    ours = tables[0]

    def shape(found: Obj) -> list[Obj]:
        return [{**column, "description": ""} for column in found["columnDefinitions"]]

    assert shape(ours) == shape(real)
    headers = [column["name"] for column in real["columnDefinitions"]]
    for row, early, *later in zip(real["rows"], *(one["rows"] for one in tables), strict=True):
        name = row["object"]["metadata"]["name"]
        assert len(row["cells"]) == len(early["cells"])
        mine = (one["cells"] for one in (early, *later))
        for column, theirs, *cells in zip(headers, row["cells"], *mine, strict=False):
            assert (theirs, type(theirs)) in [(cell, type(cell)) for cell in cells], f"{column} of {name}"
        assert early["object"] == row["object"]
        assert early.get("conditions") == row.get("conditions")


@pytest.fixture
def tabled_world(request: pytest.FixtureRequest, plural: str) -> KubeWorld:
    """A default class is given to all claims that name none, so it is made where nobody looks at those."""
    found: KubeWorld = request.getfixturevalue("real_kept_world" if plural == "storageclasses" else "real_world")
    return found


@pytest.mark.parametrize("plural", OBJECTS)
def test_tables_are_those_of_the_real_server(tabled_world: KubeWorld, unique: str, plural: str) -> None:
    world, kind = tabled_world, kind_of(plural)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}}
    world.create("/api/v1/namespaces", namespace).ok()
    base = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
    path = f"{base}/namespaces/{unique}/{plural}" if kind.namespaced else f"{base}/{plural}"
    for given in OBJECTS[plural]:
        put(world, kind, path, unique, given)
    held(world, kind, path, labelSelector=f"tables={unique}")
    for given in OBJECTS[plural]:
        name = given["metadata"]["name"] if kind.namespaced else f"{unique}-{given['metadata']['name']}"
        world.patch(f"{path}/{name}", {"metadata": {"finalizers": None}})
        world.delete(f"{path}/{name}", gracePeriodSeconds=0)


@pytest.mark.parametrize(
    "plural",
    [
        "apiservices",
        "clusterrolebindings",
        "clusterroles",
        "componentstatuses",
        "flowschemas",
        "ipaddresses",
        "namespaces",
        "priorityclasses",
        "prioritylevelconfigurations",
        "rolebindings",
        "servicecidrs",
        "services",
    ],
)
def test_what_a_server_makes_by_itself(real_world: KubeWorld, plural: str) -> None:
    kind = kind_of(plural)
    held(real_world, kind, f"/apis/{kind.api_version}/{plural}" if kind.group else f"/api/v1/{plural}")


def test_requests_for_certificates(real_world: KubeWorld, unique: str) -> None:
    world, kind = real_world, kind_of("certificatesigningrequests")
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    certificate = base64.b64encode(world.credentials.certificate.encode()).decode()
    for number, (conditions, issued) in enumerate(
        [
            ((), False),
            (("Approved",), False),
            (("Denied",), False),
            (("Approved",), True),
            (("Approved", "Failed"), False),
        ]
    ):
        name = f"{unique}-{number}"
        spec = {
            "request": certificate_request("system:node:x", ["x"], ["10.0.0.1"]),
            "signerName": "example.org/signer",
            "usages": ["digital signature", "client auth"],
        }
        if number:
            spec["expirationSeconds"] = 3600 * number
        made = {"metadata": {"name": name, "labels": {"tables": unique}}, "spec": spec}
        world.create(path, {"apiVersion": kind.api_version, "kind": kind.kind, **made}).ok()
        found = [{"type": one, "status": "True", "reason": "Tested"} for one in conditions]
        approval = [one for one in found if one["type"] != "Failed"]
        if approval:
            world.patch(f"{path}/{name}/approval", {"status": {"conditions": approval}}).ok()
        if issued:
            world.patch(f"{path}/{name}/status", {"status": {"certificate": certificate}}).ok()
        if len(found) > len(approval):
            world.patch(f"{path}/{name}/status", {"status": {"conditions": found}}).ok()
    held(world, kind, path, labelSelector=f"tables={unique}")
    world.delete(path, labelSelector=f"tables={unique}").ok()


COLUMNS = [
    ("Text", "string", ".spec.text"),
    ("Number as text", "string", ".spec.number"),
    ("Truth as text", "string", ".spec.truth"),
    ("List as text", "string", ".spec.list"),
    ("Map as text", "string", ".spec.map"),
    ("Integer", "integer", ".spec.number"),
    ("Number", "number", ".spec.number"),
    ("Truth", "boolean", ".spec.truth"),
    ("Wrong type", "integer", ".spec.text"),
    ("Missing", "string", ".spec.none.deep"),
    ("First", "string", ".spec.list[0]"),
    ("Last", "string", ".spec.list[-1]"),
    ("All", "string", ".spec.list[*]"),
    ("Some", "string", ".spec.list[0:2]"),
    ("Escaped", "string", r".spec.map.a\.b"),
    ("Quoted", "string", ".spec['text']"),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ("Not there", "string", ".status.conditions[?(@.type=='Nope')].status"),
    ("Big", "integer", ".status.conditions[?(@.size>1)].size"),
    ("When", "date", ".spec.when"),
    ("No date", "date", ".spec.text"),
    ("Age", "date", ".metadata.creationTimestamp"),
]


def test_columns_of_defined_kinds(real_world: KubeWorld, unique: str) -> None:
    """Also all the ways in which an age is written."""
    world, group = real_world, f"{unique}.example.org"
    any_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Obj = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": any_object},
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path, "priority": index % 2}
            for index, (name, kind, path) in enumerate(COLUMNS)
        ],
    }
    bare = {**version, "name": "v2", "storage": False, "additionalPrinterColumns": []}
    crd: Obj = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version, bare],
        },
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    world.create(definitions, crd).ok()
    path = f"/apis/{group}/v1/gadgets"
    until(lambda: world.get(path), lambda answer: answer.code == 200)
    conditions = [{"type": "Other", "status": "x", "size": 1}, {"type": "Ready", "status": "True", "size": 2}]
    spec = {
        "text": "words",
        "number": 4.5,
        "truth": True,
        "list": ["a", "b", "c"],
        "map": {"z": 1, "a.b": "dotted"},
    }
    now = time.time()
    for number, age in enumerate(AGES):
        when = f"{datetime.fromtimestamp(now - age, UTC):%Y-%m-%dT%H:%M:%SZ}"
        made = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": f"g-{number}"}}
        world.create(path, {**made, "spec": {**spec, "when": when}, "status": {"conditions": conditions}}).ok()
    world.create(path, {**made, "metadata": {"name": "empty"}}).ok()
    for served in ("v1", "v2"):
        kind = Kind(group=group, version=served, kind="Gadget", plural="gadgets", namespaced=False, custom=True)
        held(world, kind, f"/apis/{group}/{served}/gadgets", crd)
    world.delete(f"{definitions}/gadgets.{group}").ok()
