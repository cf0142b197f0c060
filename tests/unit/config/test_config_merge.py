"""The rules of the strategic merge, each on its own."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch, patch_from_value
from talosmith.desired.config.problems import ConfigError


def merged(base: str, *patches: str) -> dict[str, Any]:
    return dict(apply_patches(load(base), [load_patch(patch) for patch in patches])[0])


def test_empty_values_do_not_win_but_false_does() -> None:
    base = "machine: {token: old, install: {disk: a, wipe: true}, features: {kubePrism: {port: 1}}}"
    patch = "machine: {token: '', install: {disk: null, wipe: false}, features: {kubePrism: {port: 0}}}"
    assert merged(base, patch)["machine"] == {
        "token": "old",
        "install": {"disk": "a", "wipe": False},
        "features": {"kubePrism": {"port": 1}},
    }


def test_lists_append_and_five_are_replaced() -> None:
    network = "cluster: {network: {podSubnets: [%s], serviceSubnets: [%s]}, apiServer: {auditPolicy: {%s: 1}}}"
    result = merged(
        "machine: {certSANs: [a]}\n" + network % ("p", "s", "a"),
        "machine: {certSANs: [a, b]}\n" + network % ("q", "", "b"),
    )
    assert result["machine"]["certSANs"] == ["a", "a", "b"]
    assert result["cluster"]["network"] == {"podSubnets": ["q"], "serviceSubnets": []}
    assert result["cluster"]["apiServer"]["auditPolicy"] == {"b": 1}


def test_items_with_a_key_merge_with_their_like() -> None:
    interfaces = "machine: {network: {interfaces: [%s]}}"
    base = interfaces % "{interface: a, addresses: [x], vlans: [{vlanId: 1, mtu: 5}]}"
    patch = interfaces % "{interface: a, addresses: [y], vlans: [{vlanId: 1, dhcp: true}]}, {interface: b}"
    assert merged(base, patch)["machine"]["network"]["interfaces"] == [
        {"interface": "a", "addresses": ["x", "y"], "vlans": [{"vlanId": 1, "mtu": 5, "dhcp": True}]},
        {"interface": "b"},
    ]


def test_arguments_are_replaced_key_by_key() -> None:
    result = merged("machine: {kubelet: {extraArgs: {a: [x], b: y}}}", "machine: {kubelet: {extraArgs: {a: [z]}}}")
    assert result["machine"]["kubelet"]["extraArgs"] == {"a": ["z"], "b": "y"}


def test_free_form_maps_merge_deeply_and_refuse_other_types() -> None:
    base = "machine: {kubelet: {extraConfig: {a: {b: 1, c: [1]}}}}"
    result = merged(base, "machine: {kubelet: {extraConfig: {a: {b: 2, c: [2], d: x}}}}")
    assert result["machine"]["kubelet"]["extraConfig"] == {"a": {"b": 2, "c": [1, 2], "d": "x"}}
    with pytest.raises(
        ConfigError, match=r"extraConfig\.a\.b: cannot be merged: it is a number and the patch has text"
    ):
        merged(base, "machine: {kubelet: {extraConfig: {a: {b: x}}}}")


def test_an_endpoint_keeps_what_the_patch_does_not_say() -> None:
    result = merged(
        "cluster: {controlPlane: {endpoint: 'https://a:6443/p'}}", "cluster: {controlPlane: {endpoint: 'http://b'}}"
    )
    assert result["cluster"]["controlPlane"]["endpoint"] == "http://b/p"


def test_an_authority_is_replaced_as_a_whole() -> None:
    result = merged("machine: {ca: {crt: YQ==, key: Yg==}}", "machine: {ca: {crt: Yw==}}")
    assert result["machine"]["ca"] == {"crt": "Yw=="}


def test_nothing_is_changed_in_place_and_what_stays_is_shared() -> None:
    base = load("machine: {sysctls: {a: '1'}, kubelet: {image: x}}\ncluster: {id: i}")
    before = repr(base)
    result = apply_patches(base, [load_patch("machine: {sysctls: {b: '2'}}")])
    assert repr(base) == before
    assert result[0]["machine"]["sysctls"] == {"a": "1", "b": "2"}
    assert result[0]["cluster"] is base[0]["cluster"]
    assert result[0]["machine"]["kubelet"] is base[0]["machine"]["kubelet"]


def test_documents_are_matched_by_kind_and_name() -> None:
    base = load("apiVersion: v1alpha1\nkind: LinkConfig\nname: a\nmtu: 1500\n")
    head = "apiVersion: v1alpha1\nkind: LinkConfig\n"
    patch = load_patch(f"{head}name: a\nup: true\n---\n{head}name: b\n")
    first, second = apply_patches(base, [patch])
    assert (first["mtu"], first["up"], second["name"]) == (1500, True, "b")


def test_a_patch_from_values_is_the_same_as_one_from_text() -> None:
    base = load("machine: {sysctls: {a: '1'}}")
    value = {"machine": {"sysctls": {"a": 2}, "install": {"wipe": True}}}
    text = "machine: {sysctls: {a: 2}, install: {wipe: true}}"
    assert apply_patches(base, [patch_from_value(value, "inline")]) == apply_patches(base, [load_patch(text)])


def test_placeholders_are_filled_scalar_by_scalar() -> None:
    text = "machine:\n  nodeLabels:\n    zone: ${node.zone}\n  features:\n    kubePrism:\n      port: ${node.port}\n"
    values = {"${node.zone}": "a: {b", "${node.port}": "7445"}  # no text can break out of its scalar
    patch = load_patch(text, "p.yaml", values.__getitem__)
    result = apply_patches(load("machine: {}"), [patch])[0]["machine"]
    assert result == {"nodeLabels": {"zone": "a: {b"}, "features": {"kubePrism": {"port": 7445}}}


def test_search_domains_emptied_by_a_patch_are_written() -> None:
    """An empty list clears what DHCP offers; no list leaves it."""
    head = "apiVersion: v1alpha1\nkind: ResolverConfig\n"
    documents = load(head + "searchDomains: {domains: [a.example]}\n")
    emptied = apply_patches(documents, [load_patch(head + "searchDomains: {domains: []}\n")])
    assert emit(emptied) == head + "searchDomains:\n    domains: []\n"
    assert load(emit(emptied)) == emptied


def test_a_section_without_fields_is_written_as_an_empty_map() -> None:
    assert emit(load("version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n")).endswith("\ncluster: {}\n")
