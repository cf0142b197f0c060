"""Our table of changes that Talos refuses without a reboot, held against real nodes that are asked by dry runs.

Talos 1.13 has many of them, and 1.14 none: it applies every change, and never reboots by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.compare import differing_paths
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, patch_from_value
from talosmith.desired.config.reboot import refused_without_reboot
from talosmith.desired.config.schema.contracts import contract_for
from talosmith.model.versions import Version
from talosmith.talos import ApplyMode, MaintenanceClient, TalosClient, Unsupported
from tests.lab.lab_worlds import quick_bundle
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node
from tests.real.talos.machine_config import controlplane_patches, of_its_own, patches
from tests.real.talos.patience import configured, eventually, refused
from tests.real.talos.releases import BEFORE, NEWEST, Release

Docs = list[dict[str, Any]]

CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
DISK_KEY = {"provider": "luks2", "keys": [{"slot": 0, "nodeID": {}}]}

# A field of the main document and its new value; documents below. Nothing is said here of what the answer is.
FIELDS: dict[str, Any] = {
    "debug": True,
    "persist": True,
    "cluster.allowSchedulingOnControlPlanes": True,
    "cluster.apiServer.certSANs": ["api.example.org"],
    "cluster.apiServer.extraArgs": {"v": "2"},
    "cluster.clusterName": "renamed",
    "cluster.coreDNS.disabled": False,
    "cluster.etcd.extraArgs": {"quota-backend-bytes": "4294967296"},
    "cluster.token": "abcdef.fedcba9876543210",
    "machine.token": "abcdef.0123456789abcdef",
    "machine.acceptedCAs": [{"crt": CA}],
    "machine.certSANs": ["node.example.org"],
    "machine.controlPlane": {"scheduler": {"disabled": True}},
    "machine.kubelet.extraArgs": {"v": "2"},
    "machine.kubelet.nodeIP": {"validSubnets": ["10.0.0.0/8"]},
    "machine.pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}],
    "machine.network": {"nameservers": ["192.0.2.53"]},
    "machine.disks": [{"device": "/dev/sdx", "partitions": [{"mountpoint": "/var/mnt/x"}]}],
    "machine.disks:empty": [],
    "machine.install": {"disk": "/dev/sdy", "wipe": True},
    "machine.files": [{"content": "x", "permissions": 0o600, "path": "/var/etc/x", "op": "create"}],
    "machine.files:empty": [],
    "machine.env": {"GRPC_GO_LOG_VERBOSITY_LEVEL": "9"},
    "machine.env:empty": {},
    "machine.time": {"servers": ["192.0.2.123"]},
    "machine.sysctls": {"vm.max_map_count": "262144"},
    "machine.sysfs": {"devices.system.cpu.cpu0.cpufreq.scaling_governor": "performance"},
    "machine.registries": {"mirrors": {"example.org": {"endpoints": ["http://192.0.2.5"]}}},
    "machine.systemDiskEncryption": {"state": DISK_KEY},
    "machine.systemDiskEncryption:empty": {},
    "machine.features.rbac": None,
    "machine.features.stableHostname": False,
    "machine.features.apidCheckExtKeyUsage": None,
    "machine.features.apidCheckExtKeyUsage:false": False,
    "machine.features.diskQuotaSupport": None,
    "machine.features.kubernetesTalosAPIAccess": {
        "enabled": True,
        "allowedRoles": ["os:reader"],
        "allowedKubernetesNamespaces": ["kube-system"],
    },
    "machine.features.kubePrism.port": 7446,
    "machine.features.hostDNS.resolveMemberNames": True,
    "machine.features.imageCache": {"localEnabled": False},
    "machine.features.nodeAddressSortAlgorithm": "v2",
    "machine.udev": {"rules": ['SUBSYSTEM=="drm", GROUP="44"']},
    "machine.udev:empty": {},
    "machine.logging": {"destinations": [{"endpoint": "udp://192.0.2.9:514", "format": "json_lines"}]},
    "machine.kernel": {"modules": [{"name": "btrfs"}]},
    "machine.seccompProfiles": [{"name": "a.json", "value": {"defaultAction": "SCMP_ACT_LOG"}}],
    "machine.baseRuntimeSpecOverrides": {"process": {"noNewPrivileges": True}},
    "machine.nodeLabels": {"example.org/a": "b"},
    "machine.nodeAnnotations": {"example.org/a": "b"},
    "machine.nodeTaints": {"example.org/a": "b:NoSchedule"},
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "HostnameConfig": {"auto": "off", "hostname": "renamed"},
    "ResolverConfig": {"nameservers": [{"address": "192.0.2.53"}]},
    "KmsgLogConfig": {"name": "remote", "url": "tcp://192.0.2.9:3478"},
    "TimeSyncConfig": {"ntp": {"servers": ["192.0.2.123"]}},
    "EnvironmentConfig": {"variables": {"GRPC_GO_LOG_VERBOSITY_LEVEL": "9"}},
}

# On Talos 1.14: fields that have no document of their own, and documents in the place of the others.
AT_1_14 = {
    name: FIELDS[name]
    for name in (
        "debug",
        "machine.token",
        "machine.acceptedCAs",
        "machine.certSANs",
        "machine.disks",
        "machine.files",
        "machine.logging",
        "machine.seccompProfiles",
        "machine.features.diskQuotaSupport",
        "cluster.token",
        "cluster.etcd.extraArgs",
    )
}
DOCUMENTS_AT_1_14: dict[str, dict[str, Any]] = {
    **DOCUMENTS,
    "ResolverConfig": {**DOCUMENTS["ResolverConfig"], "hostDNS": {"enabled": True, "forwardKubeDNSToHost": True}},
    "SecurityProfileConfig": {"workloadIsolation": False},
    "KubeletConfig": {
        "image": f"ghcr.io/siderolabs/kubelet:{NEWEST.kubernetes}",
        "config": {},
        "extraArgs": {"v": "2"},
    },
    "KubePrismConfig": {"port": 7446},
    "SysctlConfig": {"params": {"vm.max_map_count": "262144"}},
    "UdevRulesConfig": {"rules": ['SUBSYSTEM=="drm", GROUP="44"']},
}


@pytest.mark.slow
async def test_a_real_node_reboots_for_the_changes_that_our_table_names(
    talos_lab: Lab, talos_nodes: MakeNodes
) -> None:
    (node,) = talos_nodes(1, BEFORE)
    bundle = of_its_own(quick_bundle())
    config = _config_in(talos_lab, node, bundle)
    before = load(config)
    predicted: dict[str, bool] = {}
    said: dict[str, bool] = {}
    async with TalosClient.from_bundle(bundle) as client, MaintenanceClient() as maintenance:
        await configured(maintenance.node(node.address), client.node(node.address), config)
        for name, after in [*_changed_fields(before), *_changed_documents(before)]:
            predicted[name] = bool(refused_without_reboot(before, load(emit(after)), Version.parse(BEFORE.talos)))
            said[name] = await _reboots(client, node, emit(after), name)
    assert len(said) == len(FIELDS) + len(DOCUMENTS) >= 50
    assert predicted == said
    assert 12 <= sum(said.values()) <= len(said) - 25, "both answers are well represented"


@pytest.mark.slow
async def test_a_real_node_of_talos_1_14_never_reboots_for_a_change(talos_lab: Lab, talos_nodes: MakeNodes) -> None:
    (node,) = talos_nodes(1)
    bundle = of_its_own(quick_bundle())
    config = _config_in(talos_lab, node, bundle)
    before = load(config)
    async with TalosClient.from_bundle(bundle) as client, MaintenanceClient() as maintenance:
        await configured(maintenance.node(node.address), client.node(node.address), config)
        for name, after in [*_changed_fields(before, AT_1_14), *_changed_documents(before, DOCUMENTS_AT_1_14)]:
            assert not refused_without_reboot(before, load(emit(after)), Version.parse(NEWEST.talos)), name
            assert not await _reboots(client, node, emit(after), name), name
        ours = client.node(node.address)
        await refused(lambda: ours.apply_config(config, ApplyMode.REBOOT, dry_run=True), Unsupported, "REBOOT")


def _config_in(lab: Lab, node: Node, bundle: Bundle) -> str:
    given = (*patches(lab, node.release), *controlplane_patches(lab, node.release))
    return config_of(bundle, node.name, node.address, *given, release=node.release)


def _changed_fields(before: Sequence[Any], fields: Mapping[str, Any] = FIELDS) -> list[tuple[str, Docs]]:
    found = []
    for name, value in fields.items():
        after = copy.deepcopy(list(before))
        *way, last = name.partition(":")[0].split(".")
        place = next(one for one in after if "kind" not in one)
        for part in way:
            place = place.setdefault(part, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
        found.append((name, after))
    return found


def _changed_documents(before: Sequence[Any], documents: Mapping[str, Any] = DOCUMENTS) -> list[tuple[str, Docs]]:
    return [
        (
            kind,
            [*(one for one in before if one.get("kind") != kind), {"apiVersion": "v1alpha1", "kind": kind, **fields}],
        )
        for kind, fields in documents.items()
    ]


async def _reboots(client: TalosClient, node: Node, config: str, name: str) -> bool:
    try:
        told = await eventually(lambda: client.node(node.address).apply_config(config, ApplyMode.AUTO, dry_run=True))
    except Exception as wrong:
        raise AssertionError(f"{name}: {wrong}") from wrong
    assert told.mode in (ApplyMode.REBOOT, ApplyMode.NO_REBOOT), name
    return told.mode is ApplyMode.REBOOT


def test_every_case_changes_its_own_field_alone() -> None:
    before = load(config_of(quick_bundle(), "m", "192.0.2.1"))
    for name, after in _changed_fields(before):
        path = name.partition(":")[0]
        paths = differing_paths(before, load(emit(after)))
        assert all(one.startswith(path) or path.startswith(one) for one in paths), name


def config_of(bundle: Bundle, name: str, address: str, *given: dict[str, Any], release: Release = BEFORE) -> str:
    contract = contract_for(release.talos)
    options = Options(
        "reboots", f"https://{address}:6443", release.kubernetes, f"installer:{release.talos}", contract=contract
    )
    hostname = {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "off", "hostname": name}
    all_of_them = [patch_from_value(value, "test") for value in (*given, hostname)]
    return emit(apply_patches(generate("controlplane", options, bundle), all_of_them))
