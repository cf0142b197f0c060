"""Kubernetes and etcd, which tests use on their own and inside real Talos nodes.

The files of the versions that Talos 1.13 brings end in the number of their series; nodes of Talos 1.13 need no more
than one program of each.
"""

from __future__ import annotations

from dataclasses import replace

from tools.peers import patches
from tools.peers.packages import BUSYBOX
from tools.peers.recipe import Recipe

KUBERNETES_VERSION = "v1.37.1"
KUBERNETES_VERSION_1_36 = "v1.36.3"
ETCD_VERSION = "v3.7.1"
ETCD_VERSION_3_6 = "v3.6.16"  # the last of its series, which is published as a whole


def _etcd(name: str, version: str, binaries: dict[str, str]) -> Recipe:
    modules = {program.split("/")[2] for program in binaries.values()}
    return Recipe(
        name=name,
        source="etcd",
        version=version,
        binaries=binaries,
        check=("--version",),
        says=version.removeprefix("v"),
        edits=tuple(f"-require=go.etcd.io/etcd/{module}/v3@{version}" for module in sorted(modules)),
    )


ETCD = _etcd(
    "etcd",
    ETCD_VERSION,
    {
        "etcd": "go.etcd.io/etcd/server/v3",
        "etcdctl": "go.etcd.io/etcd/etcdctl/v3",
        "etcdutl": "go.etcd.io/etcd/etcdutl/v3",
    },
)
ETCD_3_6 = _etcd("etcd-3.6", ETCD_VERSION_3_6, {"etcd-3.6": "go.etcd.io/etcd/server/v3"})

_STAGING = (
    "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap "
    "code-generator component-base component-helpers controller-manager cri-api cri-client cri-streaming "
    "csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator "
    "kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission "
    "sample-apiserver streaming"
)


def _kubernetes(name: str, version: str, binary: str, cgroups: str) -> Recipe:
    """All components in one program, which goes by the name it is called."""
    minor = version.split(".")[1]
    staging = version.replace("v1.", "v0.")
    return Recipe(
        name=name,
        source="kubernetes",
        version=version,
        binaries={binary: "."},
        check=("--version",),
        says=version,
        linux_only=True,
        ldflags=" ".join(
            f"-X {package}.gitVersion={version} -X {package}.gitMajor=1 -X {package}.gitMinor={minor}"
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        ),
        nested={"_kubernetes": f"k8s.io/kubernetes@{version}", **patches.cgroups_copy(cgroups)},
        edits=(
            f"-require=k8s.io/kubernetes@{version}",
            "-replace=k8s.io/kubernetes=./_kubernetes",
            # Its go.mod takes these from a folder that is not part of the module; each is a module of its own, too.
            *(f"-replace=k8s.io/{part}=k8s.io/{part}@{staging}" for part in _STAGING.split()),
            *patches.USE_CGROUPS_COPY,
        ),
        patches=(patches.KUBELET_KEEPS_SYSCTLS, *patches.MISSING_CONTROLLERS),
    )


KUBERNETES = replace(
    _kubernetes("kubernetes", KUBERNETES_VERSION, "kubelet", cgroups="v0.0.7"),
    links=("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl"),
    keep={"busybox": "/bin/busybox"},  # the kubelet calls mount and umount
    packages=BUSYBOX,
)
KUBERNETES_1_36 = _kubernetes("kubernetes-1.36", KUBERNETES_VERSION_1_36, "kubelet-1.36", cgroups="v0.0.6")
