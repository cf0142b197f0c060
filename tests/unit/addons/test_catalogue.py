"""The catalogue as a whole: every add-on is complete, its page is current, and the words around it are right."""

from __future__ import annotations

import re

import pytest

from talosmith.addons import NAMES, addon
from talosmith.addons.addon import supports
from tools.addon_reference import PAGE, render

WANTED = {
    "cilium", "flannel", "coredns", "metrics-server", "talos-ccm", "aws-ccm", "aws-ebs-csi", "proxmox-ccm",
    "proxmox-csi", "csi-driver-nfs", "local-path-provisioner", "cert-manager", "gateway-api", "envoy-gateway",
    "k8s-gateway", "external-dns", "external-dns-unifi", "cloudflared", "spegel", "reloader", "talos-backup", "tuppr",
    "flux-operator", "flux-instance", "argo-cd",
}  # fmt: skip


def test_every_addon_is_in_the_catalogue() -> None:
    assert set(NAMES) == WANTED


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_an_addon_is_whole(name: str) -> None:
    one = addon(name)
    assert one.title and not one.title.endswith(".") and one.namespace
    assert {*one.after, *one.brings} <= set(NAMES)
    if one.chart is not None:
        assert re.match(r"(oci|https)://[a-z0-9.-]+/", one.chart.source)
        assert one.chart.source.startswith("oci://") or one.chart.name
        for supported in one.chart.versions.values():
            assert re.fullmatch(r">=1\.\d+( <1\.\d+)?", supported), supported
    with pytest.raises(KeyError):
        addon(f"{name}-x")


@pytest.mark.parametrize(
    ("supported", "version", "fits"),
    [
        (">=1.30", "1.30.0", True),
        (">=1.30", "1.29.9", False),
        (">=1.28 <1.33", "1.32.9", True),
        (">=1.28 <1.33", "1.33.0", False),
        (">=1.9", "v1.36.3", True),
        ("", "1.2.3", True),
    ],
)
def test_ranges(supported: str, version: str, fits: bool) -> None:
    assert supports(supported, version) is fits
