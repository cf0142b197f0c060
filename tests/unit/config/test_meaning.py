"""What a config means: both forms of a setting are the same, and nothing that a config can say is lost."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from talosmith.desired.config.meaning import SECTIONS, Meaning, differences, meaning
from talosmith.desired.config.meaning.rest import READ_KINDS
from talosmith.desired.config.schema.documents import KINDS, MAIN
from talosmith.desired.config.schema.notation import Arguments, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar
from tests.unit.config.config_pairs import CONTROLPLANE, DEFAULTS, PAIRS, UNREAD_PAIRS, Pair

Place = tuple[str | int, ...]


def config(machine: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, *others: Any) -> Meaning:
    main = {"version": "v1alpha1", "machine": {"type": "controlplane", **(machine or {})}, "cluster": cluster or {}}
    return meaning([main, *others])


@pytest.mark.parametrize("pair", [*PAIRS, *UNREAD_PAIRS], ids=str)
def test_both_forms_of_a_setting_mean_the_same(pair: Pair) -> None:
    old, new = config(pair.machine, pair.cluster), config({}, {}, *pair.documents)
    mine, theirs = old.section(pair.section), new.section(pair.section)
    if pair.section == "proxy":  # that kube-proxy is configured by a file is the document's own difference
        mine, theirs = ({**one, "configFile": None} for one in (mine, theirs))
    assert mine == theirs
    if pair.name not in DEFAULTS:
        assert mine != config().section(pair.section), "the pair says nothing"


def test_each_section_has_a_pair() -> None:
    without = {
        "aggregator_ca", "api_server", "files", "kubernetes_ca", "main_document", "other_documents",
        "service_account",
    }  # fmt: skip
    assert {pair.section for pair in (*PAIRS, *UNREAD_PAIRS)} | without == {*SECTIONS}


def test_certificates_are_base64_in_v1alpha1_and_pem_in_documents() -> None:
    old = config(
        {},
        {
            "ca": {"crt": "Y2VydA==", "key": "a2V5"},
            "acceptedCAs": [{"crt": "b3RoZXI="}],
            "serviceAccount": {"key": "c2E="},
            "controlPlane": {"endpoint": "https://e:6443"},
        },
    )
    new = config(
        {},
        {},
        {"kind": "KubeAPIServerCAConfig", "issuingCA": {"cert": "cert", "key": "key"}, "acceptedCAs": ["other"]},
        {"kind": "KubeServiceAccountConfig", "issuer": {"privateKey": "sa", "issuerURL": "https://e:6443"}},
        {"kind": "KubeClusterConfig", "clusterName": "", "endpoint": "https://e:6443"},
    )
    assert differences(old, new) == []
    assert new.kubernetes_ca == {"cert": "cert", "key": "key"}
    assert new.kubernetes_accepted_cas == ("other",)
    assert old.service_account_key == "sa"


def test_the_api_server_of_a_document_differs_where_talos_does_more() -> None:
    document = {"kind": "KubeAPIServerConfig", "image": "a", "certExtraSANs": ["x"]}
    found = differences(config({}, {"apiServer": {"image": "a", "certSANs": ["x"]}}), config({}, {}, document))
    assert {change.name.split("[")[0] for change in found} == {
        "api_server.startupProbes",
        "api_server.authenticationConfig",
        "api_server.extraVolumes",
        "authorizers",  # Talos adds none to those that are listed
    }


def test_a_worker_reads_nothing_of_the_control_plane() -> None:
    worker = meaning([{"machine": {"type": "worker"}, "cluster": {"apiServer": {"image": "a"}}}])
    assert worker == meaning([{"machine": {"type": "worker"}, "cluster": {}}])
    assert worker.role == "worker"
    assert worker.taints == {}


def test_documents_win_and_maps_are_merged() -> None:
    both = config({"sysctls": {"a": "1", "b": "1"}}, {}, {"kind": "SysctlConfig", "params": {"b": "2"}})
    assert both.sysctls == {"a": "1", "b": "2"}
    node = config({"nodeLabels": {"a": "b"}}, {}, {"kind": "KubeNodeConfig", "labels": {"c": "d"}})
    assert node.labels == {"c": "d"}
    assert node.taints == {}
    disabled = {"kind": "ResolverConfig", "hostDNS": {"enabled": False}}
    assert config({"features": {"hostDNS": {"enabled": True}}}, {}, disabled).host_dns == {
        "enabled": True,
        "forwardKubeDNSToHost": False,
        "resolveMemberNames": False,
    }


def test_readers_find_the_same_in_both_forms() -> None:
    old = config(
        {"install": {"disk": "/dev/vda", "image": "i"}, "kubelet": {"image": "k"}, "network": {"hostname": "cp-1"}},
        {"id": "i", "clusterName": "c", "controlPlane": {"endpoint": "https://e:6443"}, "network": {}},
    )
    new = config(
        {},
        {},
        {
            "kind": "UnattendedInstallConfig",
            "installer": {"image": "i"},
            "provisioning": {"diskSelector": {"match": 'disk.dev_path == "/dev/vda"'}},
        },
        {"kind": "KubeletConfig", "image": "k"},
        {"kind": "HostnameConfig", "hostname": "cp-1"},
        {"kind": "DiscoveryIdentityConfig", "clusterID": "i", "clusterSecret": "s"},
        {"kind": "KubeClusterConfig", "clusterName": "c", "endpoint": "https://e:6443"},
        {"kind": "KubeFlannelCNIConfig", "backendType": "vxlan"},
        {"kind": "KubeNodeConfig", "labels": {CONTROLPLANE: ""}},
    )
    for one in (old, new):
        assert (one.role, one.hostname, one.cluster_name, one.cluster_id) == ("controlplane", "cp-1", "c", "i")
        assert (one.endpoint, one.install_disk, one.images, one.cni) == (
            "https://e:6443",
            "/dev/vda",
            {"kubelet": "k"},
            "flannel",
        )
        assert one.labels == {CONTROLPLANE: ""}
    assert old.install is not None and old.install["wipe"] is False
    assert new.install is not None and new.install["wipe"] is True  # unless told not to
    assert config({}, {"network": {"cni": {"name": "none"}}}).cni == "none"


def test_differences_name_the_place_and_hide_secrets() -> None:
    before = config(
        {"kubelet": {"extraArgs": {"v": "2"}}, "token": "t" * 20}, {"secretboxEncryptionSecret": "s" * 20}
    )
    after = config({"kubelet": {"extraArgs": {"v": "4"}}, "token": "u" * 20}, {"secretboxEncryptionSecret": "v" * 20})
    found = {change.name: change for change in differences(before, after)}
    assert (found["kubelet.extraArgs.v"].before, found["kubelet.extraArgs.v"].after) == (["2"], ["4"])
    assert found["main_document.machine.token"].masked
    assert found["etcd_encryption.resources[0].providers[0].secretbox.keys[0].secret"].masked
    shown = "".join(map(str, found.values()))
    assert not any(secret * 20 in shown for secret in "stuv")


def test_an_empty_mapping_that_is_only_on_one_side_is_a_difference() -> None:
    providers = [{"secretbox": {"keys": []}}, {"identity": {}}]
    one, other = (
        config({}, {}, {"kind": "KubeEtcdEncryptionConfig", "config": {"resources": [{"providers": given}]}})
        for given in (providers, providers[:1])
    )
    assert [change.name for change in differences(one, other)] == [
        "etcd_encryption.resources[0].providers[1].identity"
    ]


# Nothing is lost: of a config with every field set, each leaf is changed, and the meaning must change with it.

IGNORED = {  # Talos reads none of them where the others are set
    ("machine", "install", "disk"),  # diskSelector wins
    ("machine", "features", "stableHostname"),  # there is a hostname
    ("cluster", "allowSchedulingOnMasters"),  # allowSchedulingOnControlPlanes wins
    ("HostnameConfig", "auto"),  # there is a hostname
    ("KubeExternalManifestConfig", "name"),  # a URL of v1alpha1 has none
    ("DiscoveryServiceConfig", "name"),
    ("CRICustomizationConfig", "name"),
    ("TimeSyncConfig", "ptp", "devices"),  # ntp wins
}


def sample(of: Type, other: bool) -> Any:
    if isinstance(of, Scalar):
        values = {
            "b": (True, False),
            "bool": (True, False),
            "size-condition": ("10GB", "20GB"),
            "s": ("text", "other"),
        }
        numbers = of.name in ("int", "uint", "u8", "u16", "u32", "i32", "mode", "ports", "disk-size")
        return values.get(of.name, (1, 2) if numbers else ("text", "other"))[other]
    if isinstance(of, Free):
        return {"free": 1 + other}
    if isinstance(of, Arguments):
        return {"argument": ("1", "2")[other]}
    if isinstance(of, MapOf):
        return {"key": sample(of.value, other)}
    if isinstance(of, ListOf):
        return [sample(of.item, other)]
    return {key: sample(field.type, other) for key, field in of.fields.items()}


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    else:
        yield place


def at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def changed(value: dict[str, Any], place: Place, other: Any) -> dict[str, Any]:
    made = copy.deepcopy(value)
    at(made, place[:-1])[place[-1]] = other
    return made


def full_main() -> tuple[dict[str, Any], dict[str, Any]]:
    one, other = sample(MAIN, other=False), sample(MAIN, other=True)
    for value in (one, other):
        install, discovery = value["machine"]["install"], value["cluster"]["discovery"]
        del install["diskSelector"]["name"], install["diskSelector"]["type"]  # for those Talos has no expression
        value["cluster"]["network"]["cni"]["name"] = "flannel"
        value["machine"]["features"]["kubePrism"]["enabled"] = True
        value["machine"]["features"]["kubernetesTalosAPIAccess"]["enabled"] = True
        discovery["registries"] = {
            "kubernetes": {"disabled": False},
            "service": {"endpoint": discovery["registries"]["service"]["endpoint"]},
        }
        for group in ("apiServer", "controllerManager", "scheduler"):
            value["cluster"][group]["resources"] = {"requests": {"cpu": 1}, "limits": {"memory": 2}}
    one["machine"]["type"], other["machine"]["type"] = "controlplane", "worker"
    return one, other


def test_every_field_of_v1alpha1_lands_in_a_section() -> None:
    one, other = full_main()
    lost = [
        place
        for place in leaves(one)
        if at(one, place) != at(other, place)
        and tuple(key for key in place if isinstance(key, str)) not in IGNORED
        and meaning([one]) == meaning([changed(one, place, at(other, place))])
    ]
    assert lost == []
    assert len([*leaves(one)]) > 250


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_field_of_a_document_lands_in_a_section(kind: str) -> None:
    struct: Struct = KINDS[kind]
    one, other = sample(struct, other=False), sample(struct, other=True)
    for value in (one, other):
        value |= {"apiVersion": "v1alpha1", "kind": kind}
        if "resources" in value and kind.startswith("Kube"):
            value["resources"] = {"requests": {"cpu": 1}, "limits": {"memory": 2}}
        if kind == "ResolverConfig":
            value["hostDNS"]["enabled"] = True
    main = {"machine": {"type": "controlplane"}, "cluster": {}}
    lost = [
        place
        for place in leaves(one)
        if at(one, place) != at(other, place)
        and (kind, *(key for key in place if isinstance(key, str))) not in IGNORED
        and meaning([main, one]) == meaning([main, changed(one, place, at(other, place))])
    ]
    assert lost == []


def test_the_kinds_that_sections_read_exist() -> None:
    assert not READ_KINDS - {*KINDS}
