"""Changed fields with their values: what differs is shown, a secret never is, and its change is stated."""

from __future__ import annotations

import re
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.changes import changed_fields
from talosmith.desired.config.load import load
from talosmith.desired.config.schema.documents import KINDS, MAIN, Document
from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type

TOKEN, OTHER = "abcdef.0123456789abcdef", "fedcba.9876543210fedcba"
TEXT = f"""\
version: v1alpha1
machine:
  type: worker
  token: {TOKEN}
  certSANs: [a.example.org]
  sysctls: {{vm.max_map_count: "1"}}
  env: {{PROXY: plain}}
  files:
    - {{path: /etc/a, permissions: 0o600, content: "one\\ntwo"}}
  install: {{disk: /dev/vda, extraKernelArgs: [console=ttyS0]}}
  nodeAnnotations: {{note: hello}}
  kubelet:
    extraArgs: {{v: "2", anonymous-auth: "false"}}
cluster:
  id: aWRvZnRoZWNsdXN0ZXJpc2xvbmc=
  secret: c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0
  controlPlane: {{endpoint: "https://192.0.2.1:6443"}}
  inlineManifests:
    - {{name: a, contents: "kind: Secret\\ndata: {{a: aGlkZGVu}}"}}
"""
LINK = "\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 1500\n"


def changes(before: str, after: str, text: str = TEXT) -> list[str]:
    assert before in text
    return [str(one) for one in changed_fields(load(text), load(text.replace(before, after)))]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ('max_map_count: "1"', 'max_map_count: "2"', "machine.sysctls.vm.max_map_count: 1 → 2"),
        ("  certSANs: [a.example.org]\n", "", "machine.certSANs: a.example.org → none"),
        ("[a.example.org]", "[a.example.org, b]", "machine.certSANs: a.example.org → a.example.org, b"),
        (TOKEN, OTHER, "machine.token: *** → *** (changed)"),
        ("PROXY: plain", "PROXY: other", "machine.env.PROXY: *** → *** (changed)"),
        ("one\\ntwo", "one\\nmore", "machine.files[0].content: 2 lines → 2 lines (changed)"),
        ("aGlkZGVu", "b3RoZXI=", "cluster.inlineManifests[0].contents: 2 lines → 2 lines (changed)"),
        ("note: hello", f"note: {TOKEN}", "machine.nodeAnnotations.note: hello → ***"),
        ("note: hello", "note: x-c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "machine.nodeAnnotations.note: hello → ***"),
        (
            "note: hello",
            f"note: {'a' * 300}",
            r"machine.nodeAnnotations.note: hello → 300 characters, sha256 [0-9a-f]{12}",
        ),
        ("note: hello", "note: https://me:pw@b.example", "machine.nodeAnnotations.note: hello → https://***@b.example"),
        ("note: hello", "db-password: hello", ""),
        ('v: "2"', 'oidc-client-secret: "2x"', ""),
        ('auth: "false"', 'auth: "true"', "machine.kubelet.extraArgs.anonymous-auth: false → true"),
        (
            "[console=ttyS0]",
            "[console=ttyS0, talos.token=abc]",
            "machine.install.extraKernelArgs: console=ttyS0 → console=ttyS0, talos.token=***",
        ),
        ("aWRvZnRoZWNsdXN0ZXJpc2xvbmc=", "b3RoZXI=", "cluster.id: *** → *** (changed)"),
    ],
)  # fmt: skip
def test_a_changed_field_is_shown_with_both_values_unless_it_is_secret(before: str, after: str, shown: str) -> None:
    found = changes(before, after)
    if shown:
        assert len(found) == 1 and re.fullmatch(
            re.escape(shown).replace(r"\[0\-9a\-f\]\{12\}", "[0-9a-f]{12}"), found[0]
        )
    else:
        added = [one for one in found if "none → " in one]
        assert len(added) == 1 and added[0].endswith(": none → ***")


def test_an_added_document_is_listed_field_by_field() -> None:
    found = [str(one) for one in changed_fields(load(TEXT), load(TEXT + LINK))]
    assert "LinkConfig/eth0/mtu: none → 1500" in found


def test_items_of_a_longer_list_are_added_and_others_stay() -> None:
    extra = "    - {path: /etc/a,"
    found = changes(extra, "    - {path: /etc/b, permissions: 0o600, content: x}\n" + extra)
    assert sorted(found) == [
        "machine.files[0].content: none → 1 character",
        "machine.files[0].path: none → /etc/b",
        "machine.files[0].permissions: none → 0o600",
    ]


def test_the_same_config_has_no_changed_fields() -> None:
    assert changed_fields(load(TEXT + LINK), load(LINK.removeprefix("\n---\n") + "---\n" + TEXT)) == ()


def secret_fields(of: Type, place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if isinstance(of, Struct):
        inner = [(one, (*place, one.key)) for one in of.fields.values()]
        return [path for one, at in inner for path in ([at] if one.secret else secret_fields(one.type, at))]
    if isinstance(of, ListOf):
        return secret_fields(of.item, (*place, "[]"))
    return secret_fields(of.value, (*place, "{}")) if isinstance(of, MapOf) else []


def built(path: tuple[str, ...], value: str) -> Any:
    if not path:
        return value
    inner = built(path[1:], value)
    return [inner] if path[0] == "[]" else {"name" if path[0] == "{}" else path[0]: inner}


CASES = [("", path) for path in secret_fields(MAIN)]
CASES += [(kind, path) for kind, struct in KINDS.items() for path in secret_fields(struct)]


@pytest.mark.parametrize(("kind", "path"), CASES, ids=["/".join((kind, *path)) for kind, path in CASES])
def test_every_secret_field_of_the_schema_is_masked_when_added_changed_or_removed(
    kind: str, path: tuple[str, ...]
) -> None:
    def document(value: str | None) -> list[Document]:
        base: dict[str, Any] = {"apiVersion": "v1alpha1", "kind": kind} if kind else {"version": "v1alpha1"}
        return [base | (built(path, value) if value else {})]

    for before, after in (("hidden-one", "hidden-two"), (None, "hidden-two"), ("hidden-one", None)):
        found = changed_fields(document(before), document(after))
        assert found and "hidden" not in repr(found)
        assert any(one.masked for one in found)


def test_no_secret_of_a_bundle_is_in_the_changes_to_another_bundle(full_configs: Any) -> None:
    documents, secrets = full_configs
    found = repr(changed_fields(*documents))
    assert "masked=True" in found
    assert len(secrets) == 20
    assert not [one for one in secrets if one in found]


@pytest.fixture(scope="module")
def full_configs() -> Any:
    """A control plane's config with two bundles, and all that is secret in either."""
    from talosmith.desired.machine import MachineConfigs
    from tests.plans.plan_worlds import desired

    cluster = desired({"controlplane": 1}).cluster
    bundles = [Bundle.generate(contract=(1, 13)) for _ in range(2)]
    documents = [MachineConfigs(cluster, one).render(cluster.controlplanes[0]).documents for one in bundles]
    return documents, {text for one in bundles for text in secrets_of(one)}


def secrets_of(bundle: Bundle) -> set[str]:
    """Every text of at least eight characters in a secrets file that is not a certificate."""
    found: set[str] = set()

    def collect(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                collect(inner, name)
        elif isinstance(value, str) and key not in ("crt", "Clock") and len(value) >= 8:
            found.add(value)

    collect(bundle.to_mapping())
    return found
