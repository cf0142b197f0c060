"""The node in its cluster: members, etcd, Kubernetes, and the secrets that only administrators see."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.meaning import Meaning
from talosmith.desired.pki import CertificateAndKey, to_base64
from talosmith_lab import naming
from talosmith_lab.kubernetes import STATIC_PODS
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig, documents_of, meaning_of
from talosmith_lab.resources.catalog import Made, makes
from talosmith_lab.versions import line_of
from talosmith_lab.world import World


def node_id(machine: Machine) -> str:
    return hashlib.sha256(machine.uuid.encode()).hexdigest()[:43]


def nodename(world: World, machine: Machine) -> str:
    return naming.hostname(world, machine).partition(".")[0]


@makes("Identities.cluster.talos.dev")
def identity(world: World, machine: Machine) -> Made:
    yield "local", {"nodeId": node_id(machine)}


@makes("Infos.cluster.talos.dev", from_config=True)
def info(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None:
        yield "current", {"clusterId": config.cluster_id, "clusterName": config.cluster_name}


@makes("Members.cluster.talos.dev")
def members(world: World, machine: Machine) -> Made:
    for other, config in _peers(world, machine):
        yield naming.hostname(world, other), _member(world, other, config)


@makes("Affiliates.cluster.talos.dev")
def affiliates(world: World, machine: Machine) -> Made:
    for other, config in _peers(world, machine):
        yield node_id(other), {**_member(world, other, config), "nodename": nodename(world, other)}


@makes("EtcdMembers.etcd.talos.dev")
def etcd_member(world: World, machine: Machine) -> Made:
    if machine.runs("etcd") and machine.system and machine.system.etcd:
        yield "local", {"memberID": f"{machine.system.etcd.member:016x}"}


@makes("EtcdSpecs.etcd.talos.dev", from_config=True)
def etcd_spec(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None and config.is_controlplane and machine.run is not None:
        address = naming.main_address(world, machine)
        yield (
            "etcd",
            {
                "name": nodename(world, machine),
                "advertisedAddresses": [address],
                "listenPeerAddresses": [address],
                "listenClientAddresses": [address],
                "image": f"registry.k8s.io/etcd:v{line_of(machine.run.version).etcd}",
            },
        )


@makes("Nodenames.kubernetes.talos.dev")
def node_name(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None:
        registered = config.skip_node_registration
        yield (
            "nodename",
            {"nodename": nodename(world, machine), "hostnameVersion": "2", "skipNodeRegistration": registered},
        )


@makes("NodeStatuses.kubernetes.talos.dev")
def node_status(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None and machine.run is not None and world.api_up.get(config.cluster_id):
        yield (
            nodename(world, machine),
            {
                "nodename": nodename(world, machine),
                "nodeReady": machine.run.node_ready,
                "unschedulable": False,
                "labels": dict(config.labels),
                "annotations": {},
            },
        )


@makes("NodeIPs.kubernetes.talos.dev")
def node_ip(world: World, machine: Machine) -> Made:
    if world.config(machine) is not None:
        yield "kubelet", {"addresses": [naming.main_address(world, machine)]}


@makes("NodeLabelSpecs.k8s.talos.dev", from_config=True)
def node_labels(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    for key, value in config.labels.items() if config else ():
        yield key, {"key": key, "value": value}


@makes("KubeletConfigs.kubernetes.talos.dev", from_config=True)
def kubelet_config(world: World, machine: Machine) -> Made:
    """talosctl 1.14 asks whether a node has a kubelet at all."""
    config = world.config(machine)
    if config is not None and machine.run is not None:
        yield (
            "kubelet",
            {
                "image": config.images.get("kubelet", ""),
                "clusterDNS": [],
                "clusterDomain": _domain(meaning_of(world.texts[machine.run.config])),
                "skipNodeRegistration": config.skip_node_registration,
                "disableManifestsDirectory": True,
            },
        )


@makes("KubeletStatuses.kubernetes.talos.dev", from_config=True)
def kubelet_status(world: World, machine: Machine) -> Made:
    """What the dashboard shows of the kubelet to those who may not read its spec."""
    config = world.config(machine)
    if config is not None:
        yield "kubelet", {"image": config.images.get("kubelet", "")}


@makes("KubeletSpecs.kubernetes.talos.dev", from_config=True)
def kubelet_spec(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None:
        yield (
            "kubelet",
            {"image": config.images.get("kubelet", ""), "expectedNodename": nodename(world, machine)},
        )


@makes("StaticPods.kubernetes.talos.dev", from_config=True)
def static_pod_manifests(world: World, machine: Machine) -> Made:
    """What the kubelet is given to run; the pods that it runs carry the same marks."""
    config = world.config(machine)
    if config is None or not config.is_controlplane:
        return
    for pod in STATIC_PODS:
        marks = {"talos.dev/config-version": config.component_version}
        metadata = {"name": pod, "namespace": "kube-system", "labels": {"k8s-app": pod}, "annotations": marks}
        yield pod, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


@makes("StaticPodStatuses.kubernetes.talos.dev")
def static_pods(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is None or not config.is_controlplane or machine.run is None or not machine.runs("kubelet"):
        return
    ready = machine.run.static_pods
    for pod in STATIC_PODS:
        yield (
            f"kube-system/{pod}-{nodename(world, machine)}",
            {
                "phase": "Running" if ready else "Pending",
                "podIP": naming.main_address(world, machine),
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            },
        )


@makes("APIServerConfigs.kubernetes.talos.dev", from_config=True)
def api_server(world: World, machine: Machine) -> Made:
    for config, said in _control_plane(world, machine):
        yield (
            "kube-apiserver",
            {
                "image": config.images.get("kube-apiserver", ""),
                "cloudProvider": "",
                "controlPlaneEndpoint": config.endpoint,
                "etcdServers": ["https://127.0.0.1:2379"],
                "localPort": said.api_server_port,
                "serviceCIDR": _subnets(said, "serviceSubnets"),
                "advertisedAddress": "$(POD_IP)",
            },
        )


@makes("ControllerManagerConfigs.kubernetes.talos.dev", from_config=True)
def controller_manager(world: World, machine: Machine) -> Made:
    for config, said in _control_plane(world, machine):
        yield (
            "kube-controller-manager",
            {
                "enabled": said.controller_manager_enabled,
                "image": config.images.get("kube-controller-manager", ""),
                "cloudProvider": "",
                "podCIDRs": _subnets(said, "podSubnets"),
                "serviceCIDRs": _subnets(said, "serviceSubnets"),
            },
        )


@makes("SchedulerConfigs.kubernetes.talos.dev", from_config=True)
def scheduler(world: World, machine: Machine) -> Made:
    for config, said in _control_plane(world, machine):
        image = config.images.get("kube-scheduler", "")
        yield "kube-scheduler", {"enabled": said.scheduler_enabled, "image": image}


@makes("BootstrapManifestsConfigs.kubernetes.talos.dev", from_config=True)
def bootstrap_manifests(world: World, machine: Machine) -> Made:
    for config, said in _control_plane(world, machine):
        yield (
            "manifests",
            {
                "string": config.endpoint,
                "clusterDomain": _domain(said),
                "podCIDRs": _subnets(said, "podSubnets"),
                "proxyEnabled": config.proxy,
                "proxyImage": said.images.get("kube-proxy", ""),
                "coreDNSEnabled": config.core_dns,
                "flannelEnabled": config.cni == "flannel",
                "cniName": config.cni,
            },
        )


@makes("OSRootSecrets.secrets.talos.dev", from_config=True)
def os_root(world: World, machine: Machine) -> Made:
    config = world.config(machine)
    if config is not None and config.authority is not None:
        yield (
            "os",
            {
                "issuingCA": _pair(config.authority),
                "acceptedCAs": [{"crt": to_base64(pem)} for pem in (config.authority.certificate, *config.accepted)],
                "certSANIPs": [one for one in config.cert_sans if _is_address(one)],
                "certSANDNSNames": [one for one in config.cert_sans if not _is_address(one)],
                "token": _main(world, machine)["machine"].get("token") or "",
            },
        )


@makes("KubernetesRootSecrets.secrets.talos.dev", from_config=True)
def kubernetes_root(world: World, machine: Machine) -> Made:
    for config, said in _control_plane(world, machine):
        token, _, secret = str((_main(world, machine).get("cluster") or {}).get("token") or "").partition(".")
        authority, aggregator = said.kubernetes_ca, (said.section("aggregator_ca") or {}).get("issuing")
        yield (
            "k8s",
            {
                "name": config.cluster_name,
                "endpoint": config.endpoint,
                "local_endpoint": "https://localhost:6443",
                "certSANs": list(said.api_server_sans),
                "dnsDomain": _domain(said),
                "issuingCA": _encoded(authority),
                "acceptedCAs": [{"crt": to_base64(authority["cert"])}] if authority else [],
                "serviceAccount": {"key": to_base64(said.service_account_key)},
                "aggregatorCA": _encoded(aggregator),
                "bootstrapTokenID": token,
                "bootstrapTokenSecret": secret,
                "secretboxEncryptionSecret": _secretbox(said),
            },
        )


def _peers(world: World, machine: Machine) -> list[tuple[Machine, NodeConfig]]:
    """The nodes it knows of by discovery, itself among them."""
    config = world.config(machine)
    if config is None or not config.discovery:
        return []
    found = []
    for other in world.group(config.cluster_id):
        theirs = world.config(other)
        if theirs is not None and theirs.discovery and other.run is not None and other.system is not None:
            found.append((other, theirs))
    return found


def _member(world: World, machine: Machine, config: NodeConfig) -> dict[str, Any]:
    assert machine.run is not None  # noqa: S101 - peers run
    spec: dict[str, Any] = {
        "nodeId": node_id(machine),
        "addresses": naming.addresses(world, machine),
        "hostname": naming.hostname(world, machine),
        "machineType": config.role,
        "operatingSystem": f"Talos ({machine.run.version})",
    }
    if config.is_controlplane:
        spec["controlPlane"] = {"port": 6443}
    return spec


def _main(world: World, machine: Machine) -> Any:
    assert machine.run is not None  # noqa: S101
    return next(one for one in documents_of(world.texts[machine.run.config]) if "kind" not in one)


def _control_plane(world: World, machine: Machine) -> list[tuple[NodeConfig, Meaning]]:
    config = world.config(machine)
    if config is None or not config.is_controlplane or machine.run is None:
        return []
    return [(config, meaning_of(world.texts[machine.run.config]))]


def _subnets(said: Meaning, key: str) -> list[str]:
    return list((said.section("network") or {}).get(key) or ())


def _domain(said: Meaning) -> str:
    return str((said.section("network") or {}).get("dnsDomain") or "cluster.local")


def _secretbox(said: Meaning) -> str:
    """The key that new secrets are encrypted with."""
    for rule in (said.section("etcd_encryption") or {}).get("resources") or ():
        for provider in rule.get("providers") or ():
            for key in (provider.get("secretbox") or {}).get("keys") or ():
                return str(key.get("secret") or "")
    return ""


def _encoded(pair: Mapping[str, str] | None) -> dict[str, str]:
    return {"crt": to_base64(pair["cert"]), "key": to_base64(pair["key"])} if pair else {}


def _pair(pair: CertificateAndKey) -> dict[str, str]:
    return {"crt": to_base64(pair.certificate), "key": to_base64(pair.key.reveal())}


def _is_address(text: str) -> bool:
    return text.replace(".", "").isdigit() or ":" in text
