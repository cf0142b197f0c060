"""Generated configs are those of `talosctl gen config`, byte for byte, over the flags it has.

talosctl 1.14 generates for every Talos there is a contract of, talosctl 1.13 for those up to its own.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from config_peer import TALOSCTLS, Talosctl, known_differences

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, Role, generate
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.schema.contracts import CONTRACTS
from talosmith.yaml import goyaml

NO_CNI = "cluster: {network: {cni: {name: none}}, proxy: {disabled: true}}"
CUSTOM_CNI = (
    "cluster: {network: {cni: {name: custom, urls: ['https://cni.example/all.yaml']}, podSubnets: [10.8.0.0/14]}}"
)
HOSTNAME = "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 192.0.2.7/24}]\n"
LABELS = "machine: {nodeLabels: {zone: a}, kubelet: {extraArgs: {v: '3'}, extraConfig: {maxPods: 200}}}"
NEW_FORM = """\
{apiVersion: v1alpha1, kind: KubeletConfig, config: {maxPods: 200}, extraArgs: {v: "3"}}
---
{apiVersion: v1alpha1, kind: SysctlConfig, params: {net.core.somaxconn: "1024"}}
---
{apiVersion: v1alpha1, kind: VolumeConfig, name: EPHEMERAL, provisioning: {maxSize: 80%}}
"""
NEW_FORM_CONTROL_PLANE = """\
{apiVersion: v1alpha1, kind: KubeFlannelCNIConfig, $patch: delete}
---
{apiVersion: v1alpha1, kind: KubeProxyConfig, enabled: false}
---
{apiVersion: v1alpha1, kind: KubeNodeConfig, taints: {$patch: delete}}
"""
SCHEDULE = "cluster: {allowSchedulingOnControlPlanes: true, apiServer: {certSANs: [extra.example]}}"

# Each value is what talosctl is told and what Options is told.
Value = tuple[tuple[str, ...], Mapping[str, Any]]
FACTORS: dict[str, list[Value]] = {
    "sans": [
        ((), {}),
        (("--additional-sans", "10.9.8.7"), {"additional_sans": ("10.9.8.7",)}),
        (("--additional-sans", "a.example,2001:db8::1"), {"additional_sans": ("a.example", "2001:db8::1")}),
    ],
    "disk": [((), {}), (("--install-disk", "/dev/nvme0n1"), {"install_disk": "/dev/nvme0n1"})],
    "image": [
        (
            ("--install-image", "ghcr.io/siderolabs/installer:v1.13.9"),
            {"install_image": "ghcr.io/siderolabs/installer:v1.13.9"},
        ),
        (
            ("--install-image", "factory.example/installer/abc:v1"),
            {"install_image": "factory.example/installer/abc:v1"},
        ),
    ],
    "mirrors": [
        ((), {}),
        (
            ("--registry-mirror", "docker.io=https://m.example"),
            {"registry_mirrors": {"docker.io": ("https://m.example",)}},
        ),
        (
            tuple(
                f"--registry-mirror={one}"
                for one in ("z.io=http://a:5000", "docker.io=https://b/v2", "z.io=http://c")
            ),
            {"registry_mirrors": {"z.io": ("http://a:5000", "http://c"), "docker.io": ("https://b/v2",)}},
        ),
    ],
    "kubespan": [((), {}), (("--with-kubespan",), {"kubespan": True})],
    "discovery": [((), {}), (("--with-cluster-discovery=false",), {"discovery": False})],
    "domain": [((), {}), (("--dns-domain", "k8s.example"), {"dns_domain": "k8s.example"})],
    "kubernetes": [
        (("--kubernetes-version", "1.36.3"), {"kubernetes_version": "1.36.3"}),
        (("--kubernetes-version", "v1.31.4"), {"kubernetes_version": "v1.31.4"}),
        (("--kubernetes-version", "1.37.0"), {"kubernetes_version": "1.37.0"}),
    ],
    "endpoint": [
        (("https://192.0.2.10:6443",), {"endpoint": "https://192.0.2.10:6443"}),
        (("https://api.example",), {"endpoint": "https://api.example"}),
        (("https://[2001:db8::10]:6443",), {"endpoint": "https://[2001:db8::10]:6443"}),
    ],
    "patches": [
        ((), {}),
        (("--config-patch", NO_CNI), {}),
        (("--config-patch", CUSTOM_CNI, "--config-patch", LABELS), {}),
        (("--config-patch", LABELS, "--config-patch-control-plane", SCHEDULE, "--config-patch-worker", HOSTNAME), {}),
        (("--config-patch", NEW_FORM, "--config-patch-control-plane", NEW_FORM_CONTROL_PLANE), {}),
    ],
}
OLDER_FACTORS = FACTORS | {"patches": FACTORS["patches"][:-1]}  # documents that 1.13 knows
PATCHED_ROLES = {"--config-patch": ("controlplane", "worker"), "--config-patch-control-plane": ("controlplane",)}


def _pairwise(factors: Mapping[str, list[Value]]) -> list[tuple[int, ...]]:
    """Choices of one value per factor such that any two values of two factors meet in at least one of them."""
    sizes = [len(values) for values in factors.values()]
    pairs = {
        ((one, a), (two, b))
        for one, two in itertools.combinations(range(len(sizes)), 2)
        for a in range(sizes[one])
        for b in range(sizes[two])
    }
    dice = random.Random(0)  # noqa: S311 - the same rows every time
    rows: list[tuple[int, ...]] = []
    while pairs:
        tries = [tuple(dice.randrange(size) for size in sizes) for _ in range(100)]
        best = max(tries, key=lambda row: len(pairs.intersection(itertools.combinations(enumerate(row), 2))))
        pairs -= set(itertools.combinations(enumerate(best), 2))
        rows.append(best)
    return rows


COMBINATIONS = [
    pytest.param(name, contract, row, id=f"{name}-{contract[0]}.{contract[1]}-{''.join(map(str, row))}")
    for name, line in TALOSCTLS.items()
    for contract in CONTRACTS
    if contract <= line
    for row in _pairwise(FACTORS if line >= (1, 14) else OLDER_FACTORS)
]


@pytest.fixture(scope="module")
def bundle(peer: Callable[[str], Path]) -> Bundle:
    return Bundle.from_mapping(Talosctl(peer("talosctl")).secrets())


def test_there_are_enough_combinations() -> None:
    assert len(COMBINATIONS) >= 200


@pytest.mark.parametrize(("name", "contract", "row"), COMBINATIONS)
def test_equal_to_gen_config(
    name: str,
    contract: tuple[int, int],
    row: tuple[int, ...],
    peer: Callable[[str], Path],
    bundle: Bundle,
    request: pytest.FixtureRequest,
) -> None:
    talosctl = Talosctl(peer(name))
    chosen = [values[index] for values, index in zip(FACTORS.values(), row, strict=True)]
    flags = [flag for told, _ in chosen for flag in told]
    settings: dict[str, Any] = {key: value for _, setting in chosen for key, value in setting.items()}
    theirs = talosctl.gen_config(
        goyaml.dump(bundle.to_mapping()), ["lab", *flags, f"--talos-version=v{contract[0]}.{contract[1]}"]
    )
    options = Options(cluster_name="lab", contract=CONTRACTS[contract], **settings)
    ours = {role: _ours(role, options, bundle, chosen[-1][0]) for role in theirs}
    case = request.node.callspec.id
    if case in known_differences("generate"):
        assert ours != theirs, "listed as a difference, but there is none"
        return
    for role, text in theirs.items():
        assert ours[role].split("---\n") == text.split("---\n")


def _ours(role: str, options: Options, bundle: Bundle, flags: tuple[str, ...]) -> str:
    given = list(zip(flags[::2], flags[1::2], strict=True))
    patches = [load_patch(text) for flag, text in given if role in PATCHED_ROLES.get(flag, ("worker",))]
    which: Role = "controlplane" if role == "controlplane" else "worker"
    return emit(apply_patches(generate(which, options, bundle), patches))


@pytest.mark.parametrize("name", TALOSCTLS)
def test_equal_with_rfc_6902(name: str, peer: Callable[[str], Path], bundle: Bundle) -> None:
    talosctl, image = Talosctl(peer(name)), "ghcr.io/siderolabs/installer:v1.13.9"
    operations = '[{"op": "add", "path": "/machine/certSANs/-", "value": "json.example"}]'
    flags = ["lab", "https://192.0.2.10:6443", "--talos-version=v1.11", "--kubernetes-version=1.34.1"]
    flags += [f"--install-image={image}"]
    theirs = talosctl.gen_config(goyaml.dump(bundle.to_mapping()), [*flags, "--config-patch", operations])
    options = Options("lab", "https://192.0.2.10:6443", "1.34.1", image, CONTRACTS[1, 11])
    for role, text in theirs.items():
        assert _ours(role, options, bundle, ("--config-patch", operations)) == text
