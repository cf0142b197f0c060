"""What Talos applies to a new cluster by itself: kube-proxy, CoreDNS, flannel, the kind of its API access.

As Talos does it, existing objects stay unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from talosmith_lab.kube.controllers.settings import Settings, settings_of
from talosmith_lab.kube.controllers.work import Controller, Work
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Obj, find
from talosmith_lab.kube.operator_kinds import TALOS, definitions
from talosmith_lab.nodeconfig import NodeConfig

_SYSTEM = "kube-system"
_RBAC = "rbac.authorization.k8s.io"
_HOW = How(manager="talos", user="apiserver-kubelet-client", groups=("system:masters",))
_CORE_FILE = """.:53 {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    log . {{
        class error
    }}
    prometheus :9153

    kubernetes {domain} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30
    loop
    reload
    loadbalance
}}
"""
_NETWORK = {
    "name": "cbr0",
    "cniVersion": "1.0.0",
    "plugins": [
        {"type": "flannel", "delegate": {"hairpinMode": True, "isDefaultGateway": True}},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


class Manifests(Controller):
    name = "manifests"

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._done: dict[str, tuple[int, str]] = {}  # machines, with the boot and config they did it in

    def machine_changed(self, name: str) -> Iterable[str]:
        machine = self.work.world.machines.get(name)
        if machine is None or machine.run is None or not machine.run.static_pods:
            return
        if self._done.get(name) != (machine.boots, machine.run.config):
            yield name

    def reconcile(self, key: str) -> None:
        machine = self.work.world.machines.get(key)
        config = self.work.world.config(machine) if machine is not None else None
        if machine is None or config is None or machine.run is None or machine not in self.work.control_planes:
            return
        for obj in objects(config, settings_of(self.work.world, machine)):
            self.work.ensure(find(obj["apiVersion"], obj["kind"]), obj, _HOW)
        self._done[key] = machine.boots, machine.run.config


def objects(config: NodeConfig, settings: Settings) -> Iterator[Obj]:
    if settings.talos_api_access:
        yield from definitions(TALOS, status=False)
    if config.cni == "flannel":
        yield from _flannel(settings)
    if config.proxy:
        yield from _proxy(config, settings)
    if config.core_dns:
        yield from _core_dns(settings)


def _flannel(settings: Settings) -> Iterator[Obj]:
    yield _account("flannel")
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]
    yield {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "flannel"}, "rules": rules}
    yield _binding("flannel", "flannel", "flannel")
    network = {"Network": settings.pod_subnet, "Backend": {"Type": "vxlan", "Port": 4789}}
    data = {"cni-conf.json": json.dumps(_NETWORK, indent=2), "net-conf.json": json.dumps(network, indent=2)}
    yield _config_map("kube-flannel-cfg", data, {"k8s-app": "flannel", "tier": "node"})
    mounts = [
        {"name": "run", "mountPath": "/run/flannel"},
        {"name": "flannel-cfg", "mountPath": "/etc/kube-flannel/"},
        {"name": "cni", "mountPath": "/etc/cni/net.d"},
    ]
    container = {
        "name": "kube-flannel",
        "image": settings.flannel,
        "command": ["/opt/bin/flanneld"],
        "args": ["--ip-masq", "--kube-subnet-mgr"],
        "env": [_field("POD_NAME", "metadata.name"), _field("POD_NAMESPACE", "metadata.namespace")],
        "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
        "securityContext": {"privileged": True},
        "volumeMounts": mounts,
    }
    install = {
        "name": "install-config",
        "image": settings.flannel,
        "command": ["cp"],
        "args": ["-f", "/etc/kube-flannel/cni-conf.json", "/etc/cni/net.d/10-flannel.conflist"],
        "volumeMounts": mounts[1:],
    }
    volumes = [
        {"name": "run", "hostPath": {"path": "/run/flannel"}},
        {"name": "cni", "hostPath": {"path": "/etc/cni/net.d"}},
        {"name": "flannel-cfg", "configMap": {"name": "kube-flannel-cfg"}},
    ]
    more = {"initContainers": [install], "serviceAccountName": "flannel", "hostNetwork": True}
    yield _daemon_set("kube-flannel", {"k8s-app": "flannel", "tier": "node"}, container, volumes, more)


def _proxy(config: NodeConfig, settings: Settings) -> Iterator[Obj]:
    yield _account("kube-proxy")
    yield _binding("kube-proxy", "system:node-proxier", "kube-proxy")
    server = {"name": "local", "cluster": {"server": config.endpoint}}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "clusters": [server]}
    yield _config_map("kubeconfig-in-cluster", {"kubeconfig": json.dumps(kubeconfig)}, {})
    container = {
        "name": "kube-proxy",
        "image": settings.proxy,
        "command": [
            "/usr/local/bin/kube-proxy",
            f"--cluster-cidr={settings.pod_subnet}",
            "--conntrack-max-per-core=0",
            "--hostname-override=$(NODE_NAME)",
            "--kubeconfig=/etc/kubernetes/kubeconfig",
            "--proxy-mode=nftables",
        ],
        "env": [_field("NODE_NAME", "spec.nodeName"), _field("POD_IP", "status.podIP")],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": True},
            {"name": "kubeconfig", "mountPath": "/etc/kubernetes", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        {"name": "kubeconfig", "configMap": {"name": "kubeconfig-in-cluster"}},
    ]
    more = {"serviceAccountName": "kube-proxy", "hostNetwork": True}
    yield _daemon_set("kube-proxy", {"k8s-app": "kube-proxy", "tier": "node"}, container, volumes, more)


def _core_dns(settings: Settings) -> Iterator[Obj]:
    yield _account("coredns")
    rules = [
        {
            "apiGroups": [""],
            "resources": ["endpoints", "services", "pods", "namespaces"],
            "verbs": ["list", "watch"],
        },
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    role = {"name": "system:coredns", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}
    yield {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": role, "rules": rules}
    yield _binding("system:coredns", "system:coredns", "coredns")
    yield _config_map("coredns", {"Corefile": _CORE_FILE.format(domain=settings.domain)}, {})
    labels = {"k8s-app": "kube-dns"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
    ]
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kube-dns",
            "namespace": _SYSTEM,
            "labels": {**labels, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
        },
        "spec": {"selector": labels, "clusterIP": settings.dns_address, "ports": ports},
    }
    yield _core_dns_deployment(settings, labels)


def _core_dns_deployment(settings: Settings, labels: Obj) -> Obj:
    container = {
        "name": "coredns",
        "image": settings.core_dns,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9153, "protocol": "TCP"},
        ],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181, "scheme": "HTTP"}, "timeoutSeconds": 5},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    items = [{"key": "Corefile", "path": "Corefile"}]
    spec = {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "containers": [container],
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": items}}],
    }
    names = {"kubernetes.io/name": "CoreDNS"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": _SYSTEM, "labels": {**labels, **names}},
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _daemon_set(name: str, labels: Obj, container: Obj, volumes: list[Obj], more: Obj) -> Obj:
    spec = {
        "containers": [container],
        "priorityClassName": "system-node-critical",
        "tolerations": [
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute"},
        ],
        "volumes": volumes,
        **more,
    }
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": _SYSTEM, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": rolling,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _account(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": _SYSTEM}}


def _binding(name: str, role: str, account: str) -> Obj:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": _SYSTEM}],
    }


def _config_map(name: str, data: Obj, labels: Obj) -> Obj:
    metadata = {"name": name, "namespace": _SYSTEM, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _field(name: str, path: str) -> Obj:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
