"""Objects of add-ons: where they may be, how many, whose metadata they carry, and what becomes of shared ones."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from talosmith import load
from talosmith.desired.addon_checks import MOST_OBJECTS, InvalidAddon, check_objects
from talosmith.desired.addon_secrets import Revealed, hide_all
from talosmith.desired.addons import AddonSources, DesiredAddon, desired_addons
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets
from talosmith.errors import SecretsError
from talosmith.kustomize import Manifests
from talosmith.model.values import SecretRef

HEADER = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
SECRETS = Secrets(Bundle.generate(contract=(1, 13)), {"web": {"password": "correct-horse"}})


def item(kind: str = "ConfigMap", name: str = "x", namespace: str = "", **more: Any) -> dict[str, Any]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": more.pop("api", "v1"), "kind": kind, "metadata": meta, **more}


def made(tmp_path: Path, addons: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, DesiredAddon], list[str]]:
    lines = "".join(f"  {name}: {{manifests: ./{name}}}\n" for name in addons)
    (tmp_path / "cluster.yaml").write_text(f"{HEADER}addons:\n{lines}")
    sources = AddonSources(manifests={name: Manifests(objects, "") for name, objects in addons.items()})
    found, problems = desired_addons(load(tmp_path), sources, SECRETS)
    return found, [f"{one.addon}: {one.what}" for one in problems]


@pytest.mark.parametrize(
    ("objects", "wrong"),
    [
        ([item()], ""),
        ([item(namespace="web")], ""),
        ([item(namespace="other"), item("Namespace", "other")], ""),
        ([item("Role", namespace="kube-system", api="rbac.authorization.k8s.io/v1")], ""),
        ([item(namespace="other")], "ConfigMap other/x is outside of the add-on's namespace web"),
        ([item("Secret", namespace="kube-system")], "Secret kube-system/x is outside"),
        ([item(), item()], "ConfigMap x exists twice"),
        ([item(), item(namespace="web")], "ConfigMap web/x exists twice"),
        ([{"kind": "ConfigMap", "metadata": {"name": "x"}}], "ConfigMap x lacks apiVersion"),
        ([{"apiVersion": "v1", "kind": "ConfigMap"}], "ConfigMap (without a name) lacks"),
        ([item(name=f"x-{number}") for number in range(MOST_OBJECTS + 1)], "5001 objects"),
    ],
)
def test_objects_are_where_they_belong(objects: list[dict[str, Any]], wrong: str) -> None:
    if not wrong:
        check_objects("web", "web", objects)
        return
    with pytest.raises(InvalidAddon) as refused:
        check_objects("web", "web", objects)
    assert wrong in str(refused.value)


def test_a_namespace_is_brought_unless_it_exists_or_is_among_the_objects(tmp_path: Path) -> None:
    found, problems = made(tmp_path, {"web": [item()], "own": [item("Namespace", "own"), item()]})
    assert not problems
    assert found["web"].space == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    assert found["own"].space is None


def test_a_crd_of_two_addons_belongs_to_the_first_and_must_be_the_same(tmp_path: Path) -> None:
    crd = item("CustomResourceDefinition", "webs.example.org", api="apiextensions.k8s.io/v1", spec={"group": "a"})
    found, problems = made(tmp_path, {"one": [crd, item()], "two": [crd, item()]})
    assert not problems
    assert [len(one.crds) for one in found.values()] == [1, 0]
    other = {**crd, "spec": {"group": "b"}}
    _, problems = made(tmp_path, {"one": [crd], "two": [other]})
    assert problems == ["two: CustomResourceDefinition webs.example.org is also an object of add-on one"]
    _, problems = made(tmp_path, {"one": [item("StorageClass", "fast")], "two": [item("StorageClass", "fast")]})
    assert problems == ["two: StorageClass fast is also an object of add-on one"]


def test_text_of_secrets_becomes_data(tmp_path: Path) -> None:
    found, _ = made(tmp_path, {"web": [item("Secret", data={"a": "YQ=="}, stringData={"b": "text"})]})
    (secret,) = found["web"].objects
    assert "stringData" not in secret
    assert secret["data"] == {"a": "YQ==", "b": base64.b64encode(b"text").decode()}


def test_references_become_texts_which_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    reveal = Revealed(SECRETS)
    value = {"a": SecretRef("sops", "web.password"), "b": ["sops:web.password"], "c": 1}
    assert reveal(value) == {"a": "correct-horse", "b": ["sops:web.password"], "c": 1}
    assert reveal(value, references=True)["b"] == ["correct-horse"]
    encoded = base64.b64encode(b"correct-horse").decode()
    assert reveal.revealed and reveal.texts == {"correct-horse", encoded}
    hidden = hide_all({"x": ["a correct-horse b", encoded]}, frozenset(reveal.texts))
    assert hidden == {"x": ["a *** b", "***"]}
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(SecretsError, match="NOT_SET"):
        reveal({"a": "env:NOT_SET"}, references=True)
