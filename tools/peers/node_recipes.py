"""What a real Talos node is made of, and Kubernetes and etcd, which tests also use on their own."""

from __future__ import annotations

import dataclasses

from tools.peers import patches
from tools.peers.packages import BUSYBOX, C_COMPILER
from tools.peers.recipe import Recipe
from tools.peers.tool_recipes import TALOSCTL

KUBERNETES_VERSION = "v1.36.3"
ETCD_VERSION = "v3.6.16"

MACHINED = dataclasses.replace(
    TALOSCTL,
    name="machined",
    binaries={"machined": "./internal/app/machined"},
    check=(),
    says="github.com/siderolabs/talos/internal/app/machined",
    tags="tcell_minimal,grpcnotrace",
    ldflags="-X golang.zx2c4.com/wireguard/ipc.socketDirectory=/system/wireguard-sock",
    add={"internal/app/machined/guard.go": "machined/guard.go"},
    patches=(patches.REBOOT_IN_A_CONTAINER, *patches.OOM_SCORE_IN_MACHINED),
    keep={
        "containerd.toml": "hack/containerd.toml",
        "cri-containerd.toml": "hack/cri-containerd.toml",
        "cri-plugin.part": "hack/cri-plugin.part",
        "os-release": "pkg/machinery/version/os-release",
    },
    executable=False,
    linux_only=True,
)

CONTAINERD = Recipe(
    name="containerd",
    module="github.com/containerd/containerd/v2",
    version="v2.2.7",
    binaries={"containerd": "./cmd/containerd", "containerd-shim-runc-v2": "./cmd/containerd-shim-runc-v2"},
    check=("--version",),
    says="v2.2.7",
    linux_only=True,
    tags="urfave_cli_no_docs,no_btrfs,no_zfs,no_devmapper",
    ldflags="-X github.com/containerd/containerd/v2/version.Version=v2.2.7",
)

RUNC = Recipe(
    name="runc",
    module="github.com/opencontainers/runc",
    version="v1.4.3",
    binaries={"runc": "."},
    check=("--version",),
    says="1.4.3",
    linux_only=True,
    tags="netgo,osusergo,seccomp",
    ldflags="-extldflags=-static",
    cgo=True,
    packages=C_COMPILER,
    nested=patches.CGROUPS_COPY,
    edits=patches.USE_CGROUPS_COPY,
    patches=(*patches.OOM_SCORE_IN_RUNC, *patches.MISSING_CONTROLLERS),
)

CNI = Recipe(
    name="cni",
    module="github.com/containernetworking/plugins",
    version="v1.9.1",
    binaries={
        "bridge": "./plugins/main/bridge",
        "loopback": "./plugins/main/loopback",
        "host-local": "./plugins/ipam/host-local",
        "portmap": "./plugins/meta/portmap",
    },
    check=(),  # called without a command, a plugin tells its name and version
    says="v1.9.1",
    linux_only=True,
    ldflags="-X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=v1.9.1",
)

NODE_SERVICES = Recipe(
    name="node-services",
    source="node",
    version="v1",
    binaries={"talos-discovery": "./discovery", "idle-kubelet": "./idle-kubelet", "pause": "./pause"},
    check=("-version",),
    says="talosmith-discovery 1",
)

ETCD = Recipe(
    name="etcd",
    source="etcd",
    version=ETCD_VERSION,
    binaries={
        "etcd": "go.etcd.io/etcd/server/v3",
        "etcdctl": "go.etcd.io/etcd/etcdctl/v3",
        "etcdutl": "go.etcd.io/etcd/etcdutl/v3",
    },
    check=("--version",),
    says=ETCD_VERSION.removeprefix("v"),
    edits=tuple(f"-require=go.etcd.io/etcd/{part}/v3@{ETCD_VERSION}" for part in ("server", "etcdctl", "etcdutl")),
)

_STAGING = (
    "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap "
    "code-generator component-base component-helpers controller-manager cri-api cri-client cri-streaming "
    "csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator "
    "kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission "
    "sample-apiserver streaming"
)
_STAGING_VERSION = KUBERNETES_VERSION.replace("v1.", "v0.")

KUBERNETES = Recipe(
    name="kubernetes",
    source="kubernetes",
    version=KUBERNETES_VERSION,
    binaries={"kubelet": "."},
    links=("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl"),
    check=("--version",),
    says=KUBERNETES_VERSION,
    linux_only=True,
    ldflags=" ".join(
        f"-X {package}.gitVersion={KUBERNETES_VERSION} -X {package}.gitMajor=1 -X {package}.gitMinor=36"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    ),
    nested={"_kubernetes": f"k8s.io/kubernetes@{KUBERNETES_VERSION}", **patches.CGROUPS_COPY},
    edits=(
        f"-require=k8s.io/kubernetes@{KUBERNETES_VERSION}",
        "-replace=k8s.io/kubernetes=./_kubernetes",
        # Its go.mod takes these from a folder that is not part of the module; each is a module of its own, too.
        *(f"-replace=k8s.io/{part}=k8s.io/{part}@{_STAGING_VERSION}" for part in _STAGING.split()),
        *patches.USE_CGROUPS_COPY,
    ),
    patches=(patches.KUBELET_KEEPS_SYSCTLS, *patches.MISSING_CONTROLLERS),
    keep={"busybox": "/bin/busybox"},  # the kubelet calls mount and umount
    packages=BUSYBOX,
)
