"""The node in its cluster: members, etcd, Kubernetes, and the secrets that only administrators see."""

from __future__ import annotations

import hashlib
from typing import Any

from talosmith.desired.pki import CertificateAndKey, to_base64
from talosmith_lab import naming
from talosmith_lab.kubernetes import STATIC_PODS
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig, documents_of
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
    for config, main in _control_plane(world, machine):
        yield (
            "kube-apiserver",
            {
                "image": config.images.get("kube-apiserver", ""),
                "cloudProvider": "",
                "controlPlaneEndpoint": config.endpoint,
                "etcdServers": ["https://127.0.0.1:2379"],
                "localPort": 6443,
                "serviceCIDR": _subnets(main, "serviceSubnets"),
                "advertisedAddress": "$(POD_IP)",
            },
        )


@makes("ControllerManagerConfigs.kubernetes.talos.dev", from_config=True)
def controller_manager(world: World, machine: Machine) -> Made:
    for config, main in _control_plane(world, machine):
        yield (
            "kube-controller-manager",
            {
                "enabled": True,
                "image": config.images.get("kube-controller-manager", ""),
                "cloudProvider": "",
                "podCIDRs": _subnets(main, "podSubnets"),
                "serviceCIDRs": _subnets(main, "serviceSubnets"),
            },
        )


@makes("SchedulerConfigs.kubernetes.talos.dev", from_config=True)
def scheduler(world: World, machine: Machine) -> Made:
    for config, _ in _control_plane(world, machine):
        yield "kube-scheduler", {"enabled": True, "image": config.images.get("kube-scheduler", "")}


@makes("BootstrapManifestsConfigs.kubernetes.talos.dev", from_config=True)
def bootstrap_manifests(world: World, machine: Machine) -> Made:
    for config, main in _control_plane(world, machine):
        yield (
            "manifests",
            {
                "string": config.endpoint,
                "clusterDomain": (main["cluster"].get("network") or {}).get("dnsDomain") or "cluster.local",
                "podCIDRs": _subnets(main, "podSubnets"),
                "proxyEnabled": config.proxy,
                "proxyImage": (main["cluster"].get("proxy") or {}).get("image") or "",
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
    for config, main in _control_plane(world, machine):
        cluster = main["cluster"]
        token, _, secret = str(cluster.get("token") or "").partition(".")
        yield (
            "k8s",
            {
                "name": config.cluster_name,
                "endpoint": config.endpoint,
                "local_endpoint": "https://localhost:6443",
                "certSANs": list((cluster.get("apiServer") or {}).get("certSANs") or ()),
                "dnsDomain": (cluster.get("network") or {}).get("dnsDomain") or "cluster.local",
                "issuingCA": dict(cluster.get("ca") or {}),
                "acceptedCAs": [{"crt": cluster["ca"]["crt"]}] if cluster.get("ca") else [],
                "serviceAccount": dict(cluster.get("serviceAccount") or {}),
                "aggregatorCA": dict(cluster.get("aggregatorCA") or {}),
                "bootstrapTokenID": token,
                "bootstrapTokenSecret": secret,
                "secretboxEncryptionSecret": cluster.get("secretboxEncryptionSecret") or "",
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


def _control_plane(world: World, machine: Machine) -> list[tuple[NodeConfig, Any]]:
    config = world.config(machine)
    return [(config, _main(world, machine))] if config is not None and config.is_controlplane else []


def _subnets(main: Any, key: str) -> list[str]:
    return [str(one) for one in (main["cluster"].get("network") or {}).get(key) or ()]


def _pair(pair: CertificateAndKey) -> dict[str, str]:
    return {"crt": to_base64(pair.certificate), "key": to_base64(pair.key.reveal())}


def _is_address(text: str) -> bool:
    return text.replace(".", "").isdigit() or ":" in text
