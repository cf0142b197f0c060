"""What the Talos of a node does not know is refused with its place, the version that knows it, and what to write."""

from __future__ import annotations

import pytest

from talosmith.desired.config.known import unknown_to
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import load_patch
from talosmith.desired.config.patch.known import check_known, twice
from talosmith.desired.config.problems import ConfigError

KUBELET = "apiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: {v: '3'}\n"
TRIM = "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nmount:\n  secure: true\ntrim:\n  enabled: true\n"
MIRROR = "machine:\n  registries:\n    mirrors:\n      docker.io:\n        skipFallback: true\n"
PHYSICAL = "machine:\n  network:\n    interfaces:\n      - deviceSelector: {permanentAddr: '02:*'}\n        mtu: 1\n"


@pytest.mark.parametrize(
    ("text", "talos", "said"),
    [
        (
            KUBELET,
            (1, 13),
            "p.yaml:1: error: the document KubeletConfig is of Talos 1.14; nodes run Talos 1.13, which refuses it; "
            "write machine.kubelet instead, or set talos_version to v1.14 or later",
        ),
        (
            TRIM,
            (1, 13),
            "p.yaml:7: error: VolumeConfig 'EPHEMERAL': trim is of Talos 1.14; nodes run Talos 1.13, "
            "which refuses it; "
            "remove it, or set talos_version to v1.14 or later",
        ),
        (MIRROR, (1, 8), 'p.yaml:5: error: machine.registries.mirrors["docker.io"].skipFallback is of Talos 1.9'),
        (
            PHYSICAL,
            (1, 8),
            "p.yaml:4: error: machine.network.interfaces[0].deviceSelector.permanentAddr is of Talos 1.9",
        ),
    ],
    ids=["kind", "field", "map", "list"],
)
def test_refused(text: str, talos: tuple[int, int], said: str) -> None:
    patch = load_patch(text, "p.yaml")
    check_known(patch, (1, 14))
    with pytest.raises(ConfigError) as caught:
        check_known(patch, talos)
    assert said in str(caught.value)


def test_a_document_of_an_older_talos_is_known_to_newer_ones() -> None:
    documents = load(f"{TRIM}---\n{KUBELET}")
    assert unknown_to(documents, (1, 14)) == unknown_to(documents, (1, 99)) == []
    assert [(one.place, one.since) for one in unknown_to(documents, (1, 12))] == [
        ("VolumeConfig.mount", (1, 13)),
        ("VolumeConfig.trim", (1, 14)),
        ("KubeletConfig", (1, 14)),
    ]


def test_a_document_twice_in_a_patch_is_a_warning() -> None:
    (problem,) = twice(load_patch(f"{KUBELET}---\n{KUBELET}", "p.yaml"))
    assert (problem.severity, problem.line) == ("warning", 5)
    assert "KubeletConfig is there twice; the first is in line 1" in problem.what
