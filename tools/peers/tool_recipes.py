"""Command line tools, beside Talos' own, that tests and benchmarks compare talosmith with."""

from __future__ import annotations

from tools.peers.recipe import Recipe

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
