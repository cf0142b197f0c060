"""A CustomResourceDefinition is not replaced by an older one."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.observed.crd_versions import downgrade

BUNDLE = "gateway.networking.k8s.io/bundle-version"


def crd(versions: str = "v1", stored: str = "", **marks: dict[str, str]) -> dict[str, Any]:
    spec = {"versions": [{"name": one} for one in versions.split()]}
    status = {"status": {"storedVersions": stored.split()}} if stored else {}
    return {"metadata": {"name": "webs.example.org", **marks}, "spec": spec, **status}


@pytest.mark.parametrize(
    ("live", "wanted", "why"),
    [
        (None, crd(), ""),
        (crd(stored="v1"), crd("v1 v2"), ""),
        (crd("v1beta1 v1", stored="v1"), crd("v1"), ""),
        (crd("v1 v2", stored="v1 v2"), crd("v1"), "objects are stored as v2"),
        (crd(annotations={BUNDLE: "v1.4.0"}), crd(annotations={BUNDLE: "v1.4.1"}), ""),
        (crd(annotations={BUNDLE: "v1.10.0"}), crd(annotations={BUNDLE: "v1.9.0"}), "v1.10.0 is installed"),
        (
            crd(labels={"helm.sh/chart": "web-2.0.0"}),
            crd(labels={"helm.sh/chart": "web-1.9.9"}),
            "web-2.0.0 is installed",
        ),
        (crd(labels={"app.kubernetes.io/version": "v1.2.3"}), crd(), ""),
        (crd(labels={"app.kubernetes.io/version": "main"}), crd(labels={"app.kubernetes.io/version": "v1.0.0"}), ""),
    ],
)
def test_downgrade(live: dict[str, Any] | None, wanted: dict[str, Any], why: str) -> None:
    found = downgrade(live, wanted)
    assert (why in found and found.startswith("webs.example.org: ")) if why else found == ""
