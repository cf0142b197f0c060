"""Talos at the two versions that talosmith is compared with: talosctl, and machined, which makes a real node.

The files of Talos 1.14 have the plain names; those of Talos 1.13 end in `-1.13`. Some versions that the go.mod of
Talos asks for are not published as modules; the neighbouring ones are, and nothing that tests compare with (gen,
validate, machineconfig, the API client) is linked against them.
"""

from __future__ import annotations

import dataclasses

from tools.peers import patches
from tools.peers.recipe import Recipe

TALOS = "v1.14.1"
TALOS_1_13 = "v1.13.9"

_MODULE = "github.com/siderolabs/talos"
_MACHINERY = f"{_MODULE}/pkg/machinery"
_COSI = "github.com/cosi-project/runtime"


def _talosctl(name: str, version: str) -> Recipe:
    return Recipe(
        name=name,
        module=_MODULE,
        version=version,
        binaries={name: "./cmd/talosctl"},
        check=("version", "--client", "--short"),
        says=version,
        tags="grpcnotrace",
        ldflags=f"-X {_MACHINERY}/version.Tag={version} -X {_MACHINERY}/version.Name=Client",
        nested={"pkg/machinery": f"{_MACHINERY}@{version}"},
        remove=("go.work", "go.work.sum"),
    )


def _machined(talosctl: Recipe, ending: str = "") -> Recipe:
    kept = {
        "containerd.toml": "hack/containerd.toml",
        "cri-containerd.toml": "hack/cri-containerd.toml",
        "cri-plugin.part": "hack/cri-plugin.part",
        "os-release": "pkg/machinery/version/os-release",
    }
    return dataclasses.replace(
        talosctl,
        name=f"machined{ending}",
        binaries={f"machined{ending}": "./internal/app/machined"},
        check=(),
        says="github.com/siderolabs/talos/internal/app/machined",
        tags="tcell_minimal,grpcnotrace",
        ldflags="-X golang.zx2c4.com/wireguard/ipc.socketDirectory=/system/wireguard-sock",
        add={**talosctl.add, "internal/app/machined/guard.go": "machined/guard.go"},
        patches=(*talosctl.patches, patches.REBOOT_IN_A_CONTAINER, *patches.OOM_SCORE_IN_MACHINED),
        keep={f"{name}{ending}": file for name, file in kept.items()},
        executable=False,
        linux_only=True,
    )


TALOSCTL = dataclasses.replace(
    _talosctl("talosctl", TALOS),
    nested={"pkg/machinery": f"{_MACHINERY}@{TALOS}", **patches.RTNETLINK_COPY},
    add={f"{patches.RTNETLINK_FOLDER}/route_via.go": "machined/route_via.go"},
    edits=(
        "-dropreplace=github.com/secure-io/siv-go",
        "-replace=github.com/mdlayher/ethtool=github.com/siderolabs/ethtool@v0.4.0-sidero",
        f"-replace={_COSI}={_COSI}@v1.16.2",
        patches.USE_RTNETLINK_COPY,
    ),
    patches=patches.ROUTE_VIA,
)

TALOSCTL_1_13 = dataclasses.replace(
    _talosctl("talosctl-1.13", TALOS_1_13),
    edits=(
        "-dropreplace=github.com/containerd/containerd/v2",
        "-require=github.com/containerd/containerd/v2@v2.2.7",
        "-require=github.com/siderolabs/go-kubernetes@v0.2.39",
        "-require=go.etcd.io/etcd/etcdutl/v3@v3.6.14",
    ),
)

MACHINED = _machined(TALOSCTL)
MACHINED_1_13 = _machined(TALOSCTL_1_13, ending="-1.13")

# What Talos' own library makes of a machine config; its program is one of ours.
MACHINERY = Recipe(
    name="machinery",
    source="machinery",
    version=TALOS,
    binaries={"talos-machinery": "."},
    check=("version",),
    says=f"machinery {TALOS}",
)
