"""Cilium: the CNI, and in place of kube-proxy unless `kubernetes.kube_proxy: true` keeps that one.

What Talos asks for: cgroups are mounted already, kernel modules cannot be loaded by pods, and the Kubernetes API is
reached by KubePrism, as there is no kube-proxy that would serve its Service before Cilium runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values, namespace_of
from talosmith.addons.cilium.objects import config, objects
from talosmith.addons.cilium.routing import announces_by_arp, load_balancing, replaces_kube_proxy, routing
from talosmith.model.cluster import Cluster

_KUBE_PRISM = 7445
# The chart's defaults without SYS_MODULE; SYSLOG would only show kernel pointers in dmesg.
_AGENT = "CHOWN KILL NET_ADMIN NET_RAW IPC_LOCK SYS_ADMIN SYS_RESOURCE DAC_OVERRIDE FOWNER SETGID SETUID"
_CLEANER = "NET_ADMIN SYS_ADMIN SYS_RESOURCE"


def values(cluster: Cluster) -> Values:
    prism = cluster.talos.kube_prism
    return {
        **routing(cluster),
        **load_balancing(cluster),
        "k8sServiceHost": "localhost" if prism else cluster.endpoint.host,
        "k8sServicePort": _KUBE_PRISM if prism else cluster.endpoint.port,
        "cgroup": {"autoMount": {"enabled": False}, "hostRoot": "/sys/fs/cgroup"},
        "securityContext": {
            "capabilities": {"ciliumAgent": _AGENT.split(), "cleanCiliumState": _CLEANER.split()},
        },
        # Two never run on one node.
        "operator": {"replicas": 2 if len(cluster.nodes) > 1 else 1, "rollOutPods": True},
        "rollOutCiliumPods": True,  # else a changed setting waits for the next restart
        "envoy": {"enabled": False},
        # By Helm's own method every rendering has new certificates.
        "hubble": {"enabled": False, "tls": {"auto": {"method": "cronJob"}}},
        "l2announcements": {"enabled": announces_by_arp(cluster)},
        "bgpControlPlane": {
            "enabled": cluster.services.cilium.bgp is not None,
            "secretsNamespace": {"name": namespace_of(cluster, "cilium")},
        },
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    own = cluster.services.cilium
    mode_is_set = "loadbalancer_mode" in own.model_fields_set
    if cluster.services.gateways is not None and own.bgp is None and not replaces_kube_proxy(cluster):
        yield Finding(
            "error",
            ("kubernetes", "kube_proxy"),
            "the addresses of `gateways` are not announced while kube-proxy runs",
            "Cilium's L2 announcements need its kube-proxy replacement",
            "remove `kubernetes.kube_proxy`, or set `cilium.bgp`",
        )
    if mode_is_set and not replaces_kube_proxy(cluster):
        what = "`cilium.loadbalancer_mode` has no effect while kube-proxy runs"
        yield Finding("warning", ("cilium", "loadbalancer_mode"), what, fix="remove it, or `kubernetes.kube_proxy`")
    elif mode_is_set and own.loadbalancer_mode == "dsr" and cluster.provider.name == "aws":
        yield Finding(
            "error",
            ("cilium", "loadbalancer_mode"),
            "Direct Server Return does not work on AWS",
            "replies leave a node with the address of another one, which AWS drops (source/destination check)",
            "set it to snat, or remove it",
        )
    if own.bgp is not None and "ecmp_max_paths" in own.bgp.model_fields_set:
        yield Finding(
            "warning",
            ("cilium", "bgp", "ecmp_max_paths"),
            "Cilium has no such setting: how many paths are used at a time is decided by the router",
            fix="configure it there, and remove it here",
        )
    if cluster.endpoint.to_come and not cluster.talos.kube_prism:
        yield Finding(
            "error",
            ("talos", "kube_prism"),
            "Cilium cannot reach the Kubernetes API without KubePrism",
            "the name of the load balancer is not known before it exists",
            "remove `talos.kube_prism: false`, or set `aws.domain`",
        )


ADDON = Addon(
    title="CNI by eBPF, with load balancer addresses by L2 announcements or BGP",
    namespace="kube-system",
    # The versions of Kubernetes that 1.20 is tested with begin at 1.33; 1.19's pools and BGP objects are the same.
    chart=Chart("oci://quay.io/cilium/charts/cilium", {"1.20.2": ">=1.33", "1.19.7": ">=1.21"}, "cilium"),
    stage="cni",
    values=values,
    objects=objects,
    config=config,
    check=check,
    privileged=True,
)
