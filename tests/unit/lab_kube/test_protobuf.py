"""Protocol buffers: what kubectl sends is read, and nothing that is set is lost."""

from __future__ import annotations

import pytest

from talosmith_lab import wire
from talosmith_lab.kube import protobuf


def message(version: str, kind: str, body: bytes) -> bytes:
    header = wire.blob(1, version.encode()) + wire.blob(2, kind.encode())
    return b"k8s\0" + wire.blob(1, header) + wire.blob(2, body)


def test_an_eviction_as_kubectl_drain_sends_it() -> None:
    metadata = wire.blob(1, b"web-1") + wire.blob(2, b"") + wire.blob(3, b"team") + wire.blob(8, b"")
    options = wire.number(1, 5) + wire.blob(2, wire.blob(1, b"u-1"))
    assert protobuf.decoded(message("policy/v1", "Eviction", wire.blob(1, metadata) + wire.blob(2, options))) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "web-1", "namespace": "team"},
        "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "u-1"}},
    }


def test_a_field_that_is_not_read_is_refused_if_it_is_set() -> None:
    empty = message("v1", "ServiceAccount", wire.blob(2, b""))
    assert protobuf.decoded(empty) == {"apiVersion": "v1", "kind": "ServiceAccount"}
    with pytest.raises(protobuf.Unreadable, match="field 2 of ServiceAccount only as JSON: use kubectl apply"):
        protobuf.decoded(message("v1", "ServiceAccount", wire.blob(2, wire.blob(1, b"x"))))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"k8s\0\xff\xff", message("v1", "Nonsense", b""), message("v1", "Secret", wire.number(1, 5))],
    ids=["nothing", "json", "cut-off", "unknown-kind", "wrong-type"],
)
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(protobuf.Unreadable):
        protobuf.decoded(data)
