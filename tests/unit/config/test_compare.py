"""How configs differ: the paths, and the diff that people see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith.desired.config.compare import difference, differing_paths
from talosmith.desired.config.load import load
from talosmith.desired.config.schema.documents import Document

MAIN = """\
version: v1alpha1
machine:
  type: worker
  token: abcdef.0123456789abcdef
  certSANs: [a.example.org]
  sysctls: {vm.max_map_count: "1"}
  network:
    interfaces:
      - {interface: eth0, mtu: 1500}
cluster:
  secret: c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0
  controlPlane: {endpoint: "https://192.0.2.1:6443"}
"""
HOST = "\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {}\nauto: 'off'\n"
LINK = "\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: {}\nmtu: {}\n"


def changed(before: str, after: str, text: str = MAIN) -> tuple[list[Document], list[Document]]:
    assert before in text
    return load(text), load(text.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ('vm.max_map_count: "1"', 'vm.max_map_count: "2"', "machine.sysctls.vm.max_map_count"),
        ("type: worker", "type: controlplane", "machine.type"),
        ("[a.example.org]", "[b.example.org]", "machine.certSANs[0]"),
        ("[a.example.org]", "[a.example.org, b.example.org]", "machine.certSANs"),
        ("mtu: 1500", "mtu: 9000", "machine.network.interfaces[0].mtu"),
        ("  certSANs: [a.example.org]\n", "", "machine.certSANs"),
        ("abcdef.0123456789abcdef", "abcdef.fedcba9876543210", "machine.token"),
    ],
)
def test_the_deepest_path_that_differs_is_named(before: str, after: str, path: str) -> None:
    assert differing_paths(*changed(before, after)) == (path,)


def test_documents_are_named_by_kind_and_name() -> None:
    before = load(MAIN + HOST.format("a") + LINK.format("eth0", 1500))
    after = load(MAIN + LINK.format("eth0", 9000) + LINK.format("eth1", 1500) + HOST.format("b"))
    assert differing_paths(before, after) == ("HostnameConfig/hostname", "LinkConfig/eth0/mtu", "LinkConfig/eth1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  type: worker\n", "  env: {}\n  type: worker\n"),
        ("  type: worker\n", "  files: []\n  type: 'worker'  # quoted\n"),
        ("mtu: 1500", "mtu: 1500, cidr: ''"),
        ('{vm.max_map_count: "1"}', "\n    vm.max_map_count: '1'"),
    ],
)
def test_notation_and_empty_fields_make_no_difference(before: str, after: str) -> None:
    one, other = changed(before, after)
    assert differing_paths(one, other) == ()
    assert difference(one, other) == []


def test_the_diff_shows_what_changed_and_never_a_secret() -> None:
    one, other = changed("abcdef.0123456789abcdef", "fedcba.0123456789abcdef")
    other = load(MAIN.replace("abcdef.0123456789abcdef", "fedcba.0123456789abcdef").replace("1500", "9000"))
    text = "\n".join(difference(one, other, ("old", "new")))
    assert text.startswith("--- old\n+++ new\n")
    assert "mtu: 1500" in text
    assert "mtu: 9000" in text
    assert "(changed)" in text, "that the token differs is shown"
    assert not any(secret in text for secret in ("abcdef.0123456789abcdef", "fedcba.0123456789abcdef", "c2VjcmV0"))


@given(st.dictionaries(st.sampled_from(["a", "b.c", "d"]), st.sampled_from(["1", "2"])),
       st.dictionaries(st.sampled_from(["a", "b.c", "d"]), st.sampled_from(["1", "2"])))  # fmt: skip
def test_exactly_the_keys_that_differ_are_named(one: dict[str, str], other: dict[str, str]) -> None:
    before: list[Document] = [{"version": "v1alpha1", "machine": {"type": "worker", "sysctls": one}}]
    after: list[Document] = [{"version": "v1alpha1", "machine": {"type": "worker", "sysctls": other}}]
    keys = {key for key in {*one, *other} if one.get(key) != other.get(key)}
    whole = {"machine.sysctls"} if keys and not (one and other) else {f"machine.sysctls.{key}" for key in keys}
    assert set(differing_paths(before, after)) == whole
