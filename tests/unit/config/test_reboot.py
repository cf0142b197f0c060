"""Which changes need a reboot. The table itself is held against a real node in tests/real/talos."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.reboot import needs_reboot
from talosmith.desired.config.schema.documents import Document
from talosmith.model.versions import Version

NEW = Version.parse("v1.13.9")


def documents(machine: dict[str, Any], *others: Document, **cluster: Any) -> list[Document]:
    return [{"version": "v1alpha1", "machine": {"type": "worker", **machine}, "cluster": cluster}, *others]


def test_nothing_changed_needs_nothing() -> None:
    assert needs_reboot(documents({"env": {"a": "b"}}), documents({"env": {"a": "b"}}), NEW) == ()


def test_all_fields_that_need_it_are_named() -> None:
    before = documents({"features": {"rbac": True, "kubePrism": {"enabled": True}}}, clusterName="a")
    after = documents(
        {"features": {"kubePrism": {"enabled": False}}, "sysctls": {"a": "b"}, "env": {"a": "b"}, "udev": {}},
        {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "x"},
        clusterName="b",
    )
    assert set(needs_reboot(before, after, NEW)) == {"machine.env", "machine.udev", "machine.features.rbac"}


def test_features_that_come_as_a_whole_need_it() -> None:
    """Talos looks into them only where both configs have them."""
    after = documents({"features": {"kubePrism": {"enabled": True}}})
    assert needs_reboot(documents({}), after, NEW) == ("machine.features",)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ({"token": ""}, {}, False),
        ({"env": {}}, {}, True),
        ({"files": []}, {}, True),
        ({"features": {"rbac": False}}, {"features": {}}, True),  # for Talos, no answer is not a no
        ({"files": [{"path": "/a"}]}, {"files": [{"path": "/a", "content": ""}]}, False),
        ({"files": [{"path": "/a"}]}, {"files": [{"path": "/b"}]}, True),
        ({"baseRuntimeSpecOverrides": {"a": [1]}}, {"baseRuntimeSpecOverrides": {"a": [2]}}, True),
    ],
)
def test_fields_are_compared_as_talos_does(one: dict[str, Any], other: dict[str, Any], differs: bool) -> None:
    assert bool(needs_reboot(documents(one), documents(other), NEW)) is differs
    assert bool(needs_reboot(documents(other), documents(one), NEW)) is differs


def test_an_older_talos_takes_less_at_once() -> None:
    after = documents({"features": {"nodeAddressSortAlgorithm": "v2"}})
    before = documents({"features": {}})
    assert needs_reboot(before, after, NEW) == ()
    assert needs_reboot(before, after, Version.parse("v1.9.6")) == ("machine.features.nodeAddressSortAlgorithm",)
