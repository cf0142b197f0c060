"""Validation: what a finding says, modes, strictness, and that remembering changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.cel.expression import check_expression
from talosmith.desired.config.cel.parse import CelError
from talosmith.desired.config.check.conflicts import CONFLICTS
from talosmith.desired.config.check.findings import KIND_CHECKS, NEWEST, Mode, Place
from talosmith.desired.config.check.runtime_spec import check_runtime_spec
from talosmith.desired.config.check.together import CONTROL_PLANE_ONLY
from talosmith.desired.config.check.validate import Validator, validate
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.schema.documents import KINDS
from talosmith.desired.config.schema.since import Line

LINES: tuple[Line, ...] = ((1, 8), (1, 13), (1, 14), (1, 15))

SOUND = """
version: v1alpha1
machine:
  type: controlplane
  ca: {crt: YQ==, key: YQ==}
  install: {disk: /dev/sda}
  features: {hostDNS: {enabled: true, forwardKubeDNSToHost: true}}
cluster:
  controlPlane: {endpoint: "https://192.0.2.10:6443"}
"""


def found(
    change: str, mode: Mode = "metal", *, strict: bool = False, talos: Line = NEWEST
) -> list[tuple[str, str, str]]:
    documents = apply_patches(load(SOUND), [load_patch(change)])
    return [(one.severity, one.document, one.path) for one in validate(documents, mode, strict=strict, talos=talos)]


@pytest.mark.parametrize("mode", ["metal", "cloud", "container"])
def test_a_sound_config(mode: Mode) -> None:
    for talos in LINES:
        assert validate(load(SOUND), mode, strict=True, talos=talos) == []


def test_all_findings_at_once_and_with_their_paths() -> None:
    change = (
        "machine: {type: worker, nodeLabels: {'bad key': x}}\n"
        "---\n{apiVersion: v1alpha1, kind: StaticHostConfig, name: nope, hostnames: [a]}\n"
        "---\n{apiVersion: v1alpha1, kind: HostnameConfig, auto: stable, hostname: h}\n"
    )
    assert set(found(change)) == {
        ("error", "", "machine.ca.key"),
        ("error", "", 'machine.nodeLabels["bad key"]'),
        ("error", "StaticHostConfig 'nope'", "name"),
        ("error", "HostnameConfig", "hostname"),
    }


def test_a_finding_reads_as_a_sentence_and_shows_no_value() -> None:
    documents = apply_patches(
        load(SOUND),
        [load_patch("machine: {network: {interfaces: [{interface: w, wireguard: {privateKey: s3cret}}]}}")],
    )
    (finding,) = validate(documents, "metal")
    assert str(finding) == ("machine.network.interfaces[0].wireguard.privateKey is not a key of 32 bytes in base64")


def test_modes_differ() -> None:
    no_install = "machine: {install: {$patch: delete}}"
    no_dns = "machine: {features: {$patch: delete}}"
    assert found(no_install, "metal", talos=(1, 13)) == [("error", "", "machine.install")]
    assert found(no_install, "metal", talos=(1, 14)) == []
    for talos in LINES:
        assert found(no_install, "cloud", talos=talos) == found(no_install, "container", talos=talos) == []
        assert found(no_dns, "metal", talos=talos) == found(no_dns, "cloud", talos=talos) == []
        assert len(found(no_dns, "container", talos=talos)) == 2


def test_strict_makes_errors_of_the_main_documents_warnings_only() -> None:
    bond = "{apiVersion: v1alpha1, kind: BondConfig, name: b, links: [a], bondMode: 802.3ad}"
    change = f"machine: {{install: {{extensions: [{{image: a}}]}}}}\n---\n{bond}"
    assert {severity for severity, _, _ in found(change)} == {"warning"}
    assert {severity for severity, document, _ in found(change, strict=True) if not document} == {"error"}
    assert {severity for severity, document, _ in found(change, strict=True) if document} == {"warning"}


@pytest.mark.parametrize(
    ("change", "path", "other", "since"),
    [
        ("machine: {network: {hostname: a}}", "machine.network.hostname", "{kind: HostnameConfig, auto: stable}", 13),
        ("machine: {kubelet: {}}", "machine.kubelet", "{kind: KubeletConfig, image: 'a:v1.36.0'}", 14),
        ("cluster: {coreDNS: {}}", "cluster.coreDNS", "{kind: KubeCoreDNSConfig}", 14),
    ],
)
def test_what_is_set_twice_is_refused_with_both_places(change: str, path: str, other: str, since: int) -> None:
    documents = apply_patches(load(SOUND), [load_patch(f"{change}\n---\n{{apiVersion: v1alpha1, {other[1:]}")])
    (finding,) = validate(documents, "metal")
    kind = documents[-1]["kind"]
    assert (finding.severity, finding.document, finding.path) == ("error", "", path)
    assert finding.other == Place((kind, ""))
    assert str(finding) == (
        f"{path} is set together with the document {kind}; Talos accepts only one of them "
        f"(fix: move {path} to {kind}: talosmith config migrate)"
    )
    assert [one.path for one in validate(documents, "metal", talos=(1, 13)) if one.other] == [path] * (since == 13)


def test_a_finding_in_a_document_names_the_document_for_programs() -> None:
    (finding,) = validate(load("{apiVersion: v1alpha1, kind: StaticHostConfig, name: '192.0.2.1'}"), "metal")
    assert (finding.identity, finding.path) == (("StaticHostConfig", "192.0.2.1"), "hostnames")


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ("machine: {network: {kubespan: {enabled: true}}}", [("", "machine.network.kubespan")]),
        ("{apiVersion: v1alpha1, kind: KubeSpanConfig, enabled: true}", [("KubeSpanConfig", "enabled")]),
        (
            "{apiVersion: v1alpha1, kind: KubeSpanConfig, enabled: true}\n"
            "---\n{apiVersion: v1alpha1, kind: DiscoveryServiceConfig, name: d, endpoint: 'https://d.example'}",
            [("DiscoveryServiceConfig 'd'", "")],
        ),
        ("cluster: {ca: {crt: YQ==, key: YQ==}}", [("", "")]),
        (
            "machine: {type: worker, ca: {crt: YQ==, key: ''}}\n---\n{apiVersion: v1alpha1, kind: KubeCoreDNSConfig}",
            [("KubeCoreDNSConfig", "")],
        ),
        ("{apiVersion: v1alpha1, kind: KubeNodeConfig}", [("KubeNodeConfig", "labels")]),
        (
            "{apiVersion: v1alpha1, kind: ResolverConfig, nameservers: [{address: 192.0.2.1}, {address: 192.0.2.2, "
            "protocol: DoT, tlsServerName: a}]}\n---\nmachine: {features: {$patch: delete}}",
            [("ResolverConfig", "nameservers[1].protocol")],
        ),
        (
            "{apiVersion: v1alpha1, kind: ContainerConfig, name: a, image: ab, dependsOn: {containers: [b]}}\n"
            "---\n{apiVersion: v1alpha1, kind: ContainerConfig, name: b, image: ab, dependsOn: {containers: [a, c]}}",
            [("ContainerConfig 'a'", "image"), ("ContainerConfig 'b'", "image")]
            + [("ContainerConfig 'a'", "dependsOn.containers")]
            + [("ContainerConfig 'b'", "dependsOn.containers")] * 2,
        ),
    ],
)
def test_documents_that_need_each_other(documents: str, expected: list[tuple[str, str]]) -> None:
    assert [(document, path) for _, document, path in found(documents)] == expected


def test_without_a_machine_section_nothing_else_is_looked_at() -> None:
    assert [one.path for one in validate(load("cluster: {}"), "metal")] == ["machine"]


def test_documents_alone_are_valid() -> None:
    assert validate(load("apiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n"), "metal") == []


@pytest.mark.parametrize(
    "change",
    [
        "machine: {install: {disk: {$patch: delete}}}",
        "machine: {type: worker}",
        "cluster: {network: {cni: {name: nope}}}",
        "machine: {nodeTaints: {a: Never}}\n---\n{apiVersion: v1alpha1, kind: StaticHostConfig, name: nope}",
    ],
)
def test_remembering_the_base_does_not_change_the_verdict(change: str) -> None:
    base = load(SOUND + "---\napiVersion: v1alpha1\nkind: VLANConfig\nname: v\n")
    validator = Validator("metal")
    validator.remember(base)
    changed = apply_patches(base, [load_patch(change)])
    assert validator.validate(changed) == validate(changed, "metal")
    assert validator.validate(base) == validate(base, "metal")


def test_every_kind_can_be_checked_when_empty() -> None:
    """Whatever is missing, a check ends in findings and not in a crash."""
    for kind in KINDS:
        for name in ("", "x"):
            document: dict[str, Any] = {"apiVersion": "v1alpha1", "kind": kind, "name": name}
            for talos in LINES:
                validate([document], "metal", talos=talos)
    assert {one.kind for one in KIND_CHECKS} | CONTROL_PLANE_ONLY | {one.kind for one in CONFLICTS} <= set(KINDS)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("!system_disk && disk.size > 100u * GB", "disk"),
        ("disk.symlinks.exists(s, s.startsWith('/dev/disk')) ? disk.rotational : true", "disk"),
        ("glob('sd*', disk.dev_path) || 'x' in disk.symlinks", "disk"),
        ("mac(link.permanent_addr) == \"a\" // the uplink", "link"),
        ("volume.partition_label == 'a' && disk.size >= 0x10u", "volume"),
        ("multiply_qos_vectors(qos_memory_full_total, {System: 8.0}) > 3.0", "oom-trigger"),
        ("time_since_trigger > duration('5s') && memory_some_avg10 > 5.0", "oom-trigger"),
        ("memory_max.hasValue() ? 0.0 : double(memory_current.orValue(0u))", "oom-ranking"),
    ],
)  # fmt: skip
def test_sound_expressions(text: str, environment: str) -> None:
    check_expression(text, environment)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is missing"),
        ("disk.size > 100", "uses > on uint and int"),
        ("disk.size > 100 * GB", "uses \\* on int and uint"),
        ("disk.bus == 'a'", "disk.bus, which does not exist"),
        ("disc.size > 1u", "disc, which is not known"),
        ("disk.size", "gives uint, but bool is needed"),
        ("system_disk &&", "lacks a name"),
        ("(system_disk", "lacks a \\)"),
        ("system_disk true", "goes on where it should end"),
        ("system_disk == `a`", "character that does not belong"),
        ("mac(disk.serial) == 'a'", "calls mac\\(\\)"),
        ("glob('a')", "calls glob"),
        ("disk.model.size", "field size of string"),
        ("!disk.size", "uses ! on uint"),
    ],
)
def test_expressions_that_talos_refuses(text: str, what: str) -> None:
    with pytest.raises(CelError, match=what):
        check_expression(text, "disk")


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.5, True, "1"])
def test_what_a_runtime_cannot_take_for_a_number(value: object) -> None:
    assert list(check_runtime_spec({"process": {"oomScoreAdj": value}})) == ["process.oomScoreAdj"]
    assert list(check_runtime_spec({"process": {"oomScoreAdj": 1.0}})) == []
