"""Changed fields of objects, as the plan shows them; secrets, and what may have been secrets, are not shown."""

from __future__ import annotations

from typing import Any

from talosmith.kube import Change, Ref
from talosmith.observed.object_fields import changed_fields, without_secrets

REF = Ref("v1", "ConfigMap", "web", "web")


def change(before: Any, after: Any, ref: Ref = REF) -> Change:
    meta = {"metadata": {"name": ref.name, "resourceVersion": "7"}}
    return Change(ref, "changed", "x", before={**meta, **before}, after={**meta, **after})


def shown(one: Change) -> list[str]:
    return [str(field) for field in changed_fields(one)]


def test_each_field_has_its_values() -> None:
    before = {
        "data": {"a": "1", "gone": "x"},
        "spec": {"ports": [{"name": "http", "port": 80}, {"port": 1}], "same": [1]},
    }
    after = {
        "data": {"a": "2", "new": "y"},
        "spec": {"ports": [{"name": "http", "port": 81}, {"port": 2}], "same": [1]},
    }
    assert shown(change(before, after)) == [
        "ConfigMap web/web data.a: 1 → 2",
        "ConfigMap web/web data.gone: x → none",
        "ConfigMap web/web data.new: none → y",
        "ConfigMap web/web spec.ports[http].port: 80 → 81",
        "ConfigMap web/web spec.ports[1].port: 1 → 2",
    ]


def test_what_the_server_writes_and_long_values() -> None:
    one = change({"status": {"a": 1}, "data": {"long": "a" * 500}}, {"status": {"a": 2}, "data": {"long": "b" * 500}})
    (text,) = shown(one)
    assert "(500 characters)" in text and len(text) < 400


def test_values_of_secrets_are_masked() -> None:
    one = change({"data": {"a": "b2xk"}}, {"data": {"a": "bmV3", "b": "c"}}, Ref("v1", "Secret", "web", "web"))
    assert shown(one) == ["Secret web/web data.a: *** → *** (changed)", "Secret web/web data.b: none → ***"]


def test_the_earlier_value_of_a_field_that_holds_a_secret_is_masked_too() -> None:
    before = {"data": {"url": "https://u:old-secret@x", "list": ["old-secret"], "plain": "a"}}
    after = {"data": {"url": "https://u:new-secret@x", "list": ["new-secret"], "plain": "b"}}
    one = without_secrets(change(before, after), frozenset({"new-secret"}))
    texts = [*shown(one), one.diff]
    assert "ConfigMap web/web data.plain: a → b" in texts
    assert not any("secret" in text for text in texts), texts


def test_a_secret_that_stays_is_no_change() -> None:
    same = {"data": {"url": "https://u:new-secret@x", "other": "a"}}
    one = without_secrets(change(same, {"data": {**same["data"], "other": "b"}}), frozenset({"new-secret"}))
    assert shown(one) == ["ConfigMap web/web data.other: a → b"]
