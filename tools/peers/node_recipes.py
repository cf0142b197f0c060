"""What a real Talos node needs beside machined: containerd, runc and CNI plugins, as Talos 1.14 has them.

Nodes of Talos 1.13 run with the same ones; of their configuration files only one differs, which machined keeps.
"""

from __future__ import annotations

from tools.peers import patches
from tools.peers.packages import C_COMPILER
from tools.peers.recipe import Recipe

_CONTAINERD = "v2.3.5"
_RUNC = "v1.5.1"

CONTAINERD = Recipe(
    name="containerd",
    module="github.com/containerd/containerd/v2",
    version=_CONTAINERD,
    binaries={"containerd": "./cmd/containerd", "containerd-shim-runc-v2": "./cmd/containerd-shim-runc-v2"},
    check=("--version",),
    says=_CONTAINERD,
    linux_only=True,
    tags="urfave_cli_no_docs,no_btrfs,no_zfs,no_devmapper",
    ldflags=f"-X github.com/containerd/containerd/v2/version.Version={_CONTAINERD}",
)

RUNC = Recipe(
    name="runc",
    module="github.com/opencontainers/runc",
    version=_RUNC,
    binaries={"runc": "."},
    check=("--version",),
    says=_RUNC.removeprefix("v"),
    linux_only=True,
    tags="netgo,osusergo,seccomp",
    ldflags="-extldflags=-static",
    cgo=True,
    packages=C_COMPILER,
    nested=patches.cgroups_copy("v0.0.6"),
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
