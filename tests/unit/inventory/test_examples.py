"""Every example loads, and those made from a system keep what that system said."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import jsonschema
import pytest

from talosmith import load
from talosmith.inventory import check
from talosmith.inventory.json_schema import editor_schema
from talosmith.inventory.parse import parse
from talosmith.model.versions import RECOMMENDED

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTER_FILES = sorted(EXAMPLES.glob("**/cluster.yaml"))
COMPLETE = [path for path in CLUSTER_FILES if path.parent.name != "base"]


def test_all_examples_are_here() -> None:
    names = {str(path.parent.relative_to(EXAMPLES)) for path in CLUSTER_FILES}
    expected = {"lab", "libvirt-ha", "proxmox", "proxmox-inventory", "homelab"}
    assert names == expected | {f"aws/{name}" for name in ("base", "sandbox", "staging", "production")}


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.parent.name)
def test_example_is_valid(path: Path) -> None:
    report = check(path)
    assert report.valid, report.problems
    assert len({node.ip for node in report.cluster.nodes}) == len(report.cluster.nodes)
    pinned = (str(report.cluster.talos_version), str(report.cluster.kubernetes_version))
    assert pinned == (RECOMMENDED.latest, RECOMMENDED.kubernetes)


@functools.cache
def validator(kind: Literal["cluster", "nodes"] = "cluster") -> jsonschema.Draft202012Validator:
    schema = editor_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", CLUSTER_FILES, ids=lambda path: str(path.parent.relative_to(EXAMPLES)))
def test_example_fits_the_editors_schema(path: Path) -> None:
    validator().validate(parse(path.read_bytes(), path.name).data)


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("**/nodes.yaml")), ids=lambda path: str(path.parent.relative_to(EXAMPLES))
)
def test_the_nodes_of_an_example_fit_the_editors_schema(path: Path) -> None:
    validator("nodes").validate(parse(path.read_bytes(), path.name).data)


@pytest.mark.parametrize(
    "wrong",
    [
        "netwrok: {}",
        "controlplane: many",
        "workers: [{ip: 10.0.0.1}]",
        "lab: {clock: slow}",
        "dns: {token: abc}",
        "mac_index: 300",
    ],
)
def test_the_editors_schema_refuses_what_we_refuse(wrong: str) -> None:
    text = f"cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n{wrong}\n"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(parse(text.encode(), "f").data)


def test_a_file_that_extends_another_need_not_be_complete_in_the_editor() -> None:
    validator().validate({"extends": "../base", "proxmox": {"bridge": "vmbr1"}})
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({"proxmox": {"bridge": "vmbr1"}})


def test_proxmox_inventory_is_what_its_authors_wrote() -> None:
    cluster = load(EXAMPLES / "proxmox-inventory")
    first, second = cluster.nodes
    assert (cluster.name, str(cluster.talos_version), str(cluster.kubernetes_version)) == (
        "dev",
        "v1.14.1",
        "v1.37.1",
    )
    assert (first.name, str(first.ip), first.cpu, first.ram_mib, first.disk_mib) == (
        "dev-cp-1",
        "10.0.10.11",
        4,
        8192,
        40960,
    )
    assert (second.name, second.disk_mib, second.mac) == ("dev-wk-1", 61440, "52:54:00:c2:00:01")
    assert cluster.network.addressing == "dhcp"


def test_environments_differ_by_what_they_say() -> None:
    sandbox, staging, production = (load(EXAMPLES / "aws", name) for name in ("sandbox", "staging", "production"))
    assert [len(cluster.nodes) for cluster in (sandbox, staging, production)] == [2, 5, 9]
    assert sandbox.endpoint.host == "k8s.sandbox.example.org"
    assert production.nodes[0].instance_type == "m6i.large"
    assert staging.nodes[0].instance_type == "t3.medium"
    assert staging.nodes[0].disk_mib == 50 * 1024


def test_gateway_that_is_not_the_first_address() -> None:
    cluster = load(EXAMPLES / "proxmox")
    assert str(cluster.network.gateway) == "192.168.1.3"
    assert [node.vmid for node in cluster.nodes] == [2000, 3000, 3001]
    assert [len(node.extra_disks_mib) for node in cluster.nodes] == [0, 1, 1]
