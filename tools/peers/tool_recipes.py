"""The command line tools that tests and benchmarks compare talosmith with."""

from __future__ import annotations

from tools.peers.recipe import Recipe

TALOS = "v1.13.9"
_TALOS_VERSION = "github.com/siderolabs/talos/pkg/machinery/version"

TALOSCTL = Recipe(
    name="talosctl",
    module="github.com/siderolabs/talos",
    version=TALOS,
    binaries={"talosctl": "./cmd/talosctl"},
    check=("version", "--client", "--short"),
    says=TALOS,
    tags="grpcnotrace",
    ldflags=f"-X {_TALOS_VERSION}.Tag={TALOS} -X {_TALOS_VERSION}.Name=Client",
    nested={"pkg/machinery": f"github.com/siderolabs/talos/pkg/machinery@{TALOS}"},
    remove=("go.work", "go.work.sum"),
    # The exact versions of these three are not published as modules; the neighbouring ones are, and
    # nothing that we compare with (gen, validate, machineconfig, the API client) is linked against them.
    edits=(
        "-dropreplace=github.com/containerd/containerd/v2",
        "-require=github.com/containerd/containerd/v2@v2.2.7",
        "-require=github.com/siderolabs/go-kubernetes@v0.2.39",
        "-require=go.etcd.io/etcd/etcdutl/v3@v3.6.14",
    ),
)

TALHELPER = Recipe(
    name="talhelper",
    module="github.com/budimanjojo/talhelper/v3",
    version="v3.1.16",
    binaries={"talhelper": "."},
    check=("--version",),
    says="3.1.16",
    ldflags="-X github.com/budimanjojo/talhelper/v3/cmd.version=v3.1.16",
)

SOPS = Recipe(
    name="sops",
    module="github.com/getsops/sops/v3",
    version="v3.13.3",
    binaries={"sops": "./cmd/sops"},
    check=("--version", "--disable-version-check"),
    says="3.13.3",
)

AGE = Recipe(
    name="age",
    module="filippo.io/age",
    version="v1.3.2",
    binaries={"age": "./cmd/age", "age-keygen": "./cmd/age-keygen"},
    check=("--version",),
    says="1.3.2",
    ldflags="-X main.Version=v1.3.2",
)

KUSTOMIZE = Recipe(
    name="kustomize",
    module="sigs.k8s.io/kustomize/kustomize/v5",
    version="v5.8.2",
    binaries={"kustomize": "."},
    check=("version",),
    says="v5.8.2",
    ldflags="-X sigs.k8s.io/kustomize/api/provenance.version=v5.8.2",
)
