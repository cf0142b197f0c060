"""Objects in etcd: what is stored, what is remembered, and what others write."""

from __future__ import annotations

import json

import pytest

from talosmith_lab.etcd import Cluster
from talosmith_lab.kube import storage
from talosmith_lab.kube.storage import Storage

ROOT = "/registry/configmaps/"


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(uid="c", talos_id="t")


def put(store: Storage, cluster: Cluster, name: str, **data: str) -> int:
    return store.put(ROOT, f"{ROOT}d/{name}", config_map(name, **data), lambda change: change(cluster.store)).revision


def names(found: object) -> list[str]:
    return [key.rpartition("/")[2] for key, _ in found]  # type: ignore[attr-defined]


def test_what_etcd_holds_is_what_clients_get(cluster: Cluster) -> None:
    store = Storage(cluster)
    revision = put(store, cluster, "a", x="ä")
    entry = cluster.store.entries[f"{ROOT}d/a"]
    assert entry.modified == revision == cluster.store.revision
    assert json.loads(entry.value)["metadata"]["resourceVersion"] == str(revision)
    assert entry.value.startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":')
    assert "ä".encode() in entry.value


def test_an_object_is_parsed_once(cluster: Cluster) -> None:
    store = Storage(cluster)
    put(store, cluster, "a")
    again = Storage(cluster)  # as after a restart
    first, second = again.get(f"{ROOT}d/a"), again.get(f"{ROOT}d/a")
    assert first is not None and second is not None and first.obj is second.obj


def test_lists_are_in_the_order_of_keys_and_of_one_moment(cluster: Cluster) -> None:
    store = Storage(cluster)
    for name in ("b", "a", "c"):
        then = put(store, cluster, name)
    put(store, cluster, "a", changed="yes")
    store.delete(ROOT, f"{ROOT}d/b", lambda change: change(cluster.store))
    put(store, cluster, "d")
    assert names(store.under(ROOT)) == ["a", "c", "d"]
    past = store.at(ROOT, ROOT, then)
    assert past is not None and names(past) == ["a", "b", "c"]
    assert past[0][1].obj["data"] == {}
    assert store.count(f"{ROOT}d/") == 3 and store.count(f"{ROOT}e/") == 0


def test_the_past_is_forgotten_in_the_end(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "REMEMBERED", 3)
    store = Storage(cluster)
    first = put(store, cluster, "a")
    for number in range(4):
        put(store, cluster, "a", n=str(number))
    assert store.changes_after(ROOT, first) is None
    assert store.at(ROOT, ROOT, first) is None
    kept = store.changes_after(ROOT, store.oldest(ROOT))
    assert kept is not None and len(kept) == 3


def test_what_others_write_is_noticed(cluster: Cluster) -> None:
    store = Storage(cluster)
    since = put(store, cluster, "a")
    cluster.store.put("/registry/masterleases/10.0.0.1", b"not an object")
    other = json.dumps(config_map("b", by="another")).encode()
    revision = cluster.store.put(f"{ROOT}d/b", other)
    cluster.store.delete(f"{ROOT}d/a")
    assert names(store.under(ROOT)) == ["b"]
    assert names(store.under("/registry/masterleases/")) == []
    found = store.get(f"{ROOT}d/b")
    assert found is not None and found.obj["metadata"]["resourceVersion"] == str(revision)
    changes = store.changes_after(ROOT, since)
    assert changes is not None and {change.key.rpartition("/")[2] for change in changes} == {"a", "b"}


def test_a_deleted_object_tells_when_it_went(cluster: Cluster) -> None:
    store = Storage(cluster)
    put(store, cluster, "a")
    gone = store.delete(ROOT, f"{ROOT}d/a", lambda change: change(cluster.store))
    assert gone is not None and gone.obj["metadata"]["resourceVersion"] == str(cluster.store.revision)
    assert store.delete(ROOT, f"{ROOT}d/a", lambda change: change(cluster.store)) is None
