"""What each peer is built from. A change here is a new folder in the cache, so a stale build is never taken."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recipe:
    name: str
    module: str
    version: str
    binaries: Mapping[str, str]  # file name -> package inside the module
    check: tuple[str, ...]  # arguments that make the first binary say its version …
    says: str  # … and what must be in the answer
    tags: str = ""
    ldflags: str = ""
    nested: Mapping[str, str] = field(default_factory=dict)  # folder -> module@version copied into it
    remove: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()  # arguments of `go mod edit`

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


_TALOS = "v1.13.9"
_TALOS_VERSION = "github.com/siderolabs/talos/pkg/machinery/version"

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="talosctl",
            module="github.com/siderolabs/talos",
            version=_TALOS,
            binaries={"talosctl": "./cmd/talosctl"},
            check=("version", "--client", "--short"),
            says=_TALOS,
            tags="grpcnotrace",
            ldflags=f"-X {_TALOS_VERSION}.Tag={_TALOS} -X {_TALOS_VERSION}.Name=Client",
            nested={"pkg/machinery": f"github.com/siderolabs/talos/pkg/machinery@{_TALOS}"},
            remove=("go.work", "go.work.sum"),
            # The exact versions of these three are not published as modules; the neighbouring ones are, and
            # nothing that we compare with (gen, validate, machineconfig, the API client) is linked against them.
            edits=(
                "-dropreplace=github.com/containerd/containerd/v2",
                "-require=github.com/containerd/containerd/v2@v2.2.7",
                "-require=github.com/siderolabs/go-kubernetes@v0.2.39",
                "-require=go.etcd.io/etcd/etcdutl/v3@v3.6.14",
            ),
        ),
        Recipe(
            name="talhelper",
            module="github.com/budimanjojo/talhelper/v3",
            version="v3.1.16",
            binaries={"talhelper": "."},
            check=("--version",),
            says="3.1.16",
            ldflags="-X github.com/budimanjojo/talhelper/v3/cmd.version=v3.1.16",
        ),
        Recipe(
            name="sops",
            module="github.com/getsops/sops/v3",
            version="v3.13.3",
            binaries={"sops": "./cmd/sops"},
            check=("--version", "--disable-version-check"),
            says="3.13.3",
        ),
        Recipe(
            name="age",
            module="filippo.io/age",
            version="v1.3.2",
            binaries={"age": "./cmd/age", "age-keygen": "./cmd/age-keygen"},
            check=("--version",),
            says="1.3.2",
            ldflags="-X main.Version=v1.3.2",
        ),
    )
}

BINARIES = {binary: recipe for recipe in RECIPES.values() for binary in recipe.binaries}
