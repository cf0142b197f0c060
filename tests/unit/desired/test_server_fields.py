"""What of an add-on's objects is not the add-on's: left out before anything is compared."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.server_fields import plain, stored_path

_SERVICE = {"service": {"name": "web"}}


def hook(**client: Any) -> dict[str, Any]:
    return {"kind": "ValidatingWebhookConfiguration", "webhooks": [{"name": "a", "clientConfig": client}]}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"kind": "ConfigMap", "stringData": {"a": "b"}}, {"kind": "ConfigMap", "stringData": {"a": "b"}}),
        (
            {"kind": "Secret", "data": {"a": "eA=="}, "stringData": {"b": "y"}},
            {"kind": "Secret", "data": {"a": "eA==", "b": "eQ=="}},
        ),
        ({"kind": "ClusterRole", "rules": []}, {"kind": "ClusterRole", "rules": []}),
        (
            {"kind": "ClusterRole", "aggregationRule": {"a": 1}, "rules": []},
            {"kind": "ClusterRole", "aggregationRule": {"a": 1}},
        ),
        (hook(**_SERVICE, caBundle=""), hook(**_SERVICE)),
        (hook(**_SERVICE, caBundle="Cg=="), hook(**_SERVICE)),
        (hook(**_SERVICE, caBundle="LS0t"), hook(**_SERVICE, caBundle="LS0t")),
        ({"kind": "MutatingWebhookConfiguration"}, {"kind": "MutatingWebhookConfiguration"}),
    ],
)
def test_fields_of_others_are_left_out(given: dict[str, Any], left: dict[str, Any]) -> None:
    assert plain([given]) == [left]


def test_a_generated_text_of_a_secret_is_found_where_it_is_stored() -> None:
    assert stored_path(("stringData", "password")) == ("data", "password")
    assert stored_path(("data", "password")) == ("data", "password")
