"""Images: those of pod specs wherever they are, and those that programs are told to start."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.charts import images_of

DIGEST = "sha256:" + "a" * 64


def deployment(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "Deployment", "spec": {"template": {"spec": {"containers": list(containers), **more}}}}


def test_images_are_sorted_and_each_once() -> None:
    pod = {"kind": "Pod", "spec": {"containers": [{"image": "quay.io/b/b:1"}, {"image": "nginx"}]}}
    init = deployment({"image": f"ghcr.io/a/a:1@{DIGEST}"}, initContainers=[{"image": "quay.io/b/b:1"}])
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": pod["spec"]}}}}}
    listed = {"kind": "List", "items": [pod, init, cron]}
    assert images_of([listed, pod]) == [f"ghcr.io/a/a:1@{DIGEST}", "nginx", "quay.io/b/b:1"]


@pytest.mark.parametrize(
    ("container", "found"),
    [
        ({"args": ["--acme-http01-solver-image=quay.io/a/solver:v1", "--v=2", 7]}, ["quay.io/a/solver:v1"]),
        ({"command": ["run", "--helper-image=ghcr.io/a/b:1"]}, ["ghcr.io/a/b:1"]),
        ({"args": ["--image=", "--image=busybox", "--image-pull-policy=Always"]}, []),
        ({"env": [{"name": "RELATED_IMAGE", "value": "ghcr.io/a/b:1"}]}, ["ghcr.io/a/b:1"]),
        ({"env": [{"name": "OTHER", "value": "ghcr.io/a/b:1"}]}, []),
        ({"env": [{"name": "SOME_IMAGE", "valueFrom": {}}], "image": None}, []),
    ],
)  # fmt: skip
def test_images_that_a_container_starts(container: dict[str, Any], found: list[str]) -> None:
    assert images_of([deployment(container)]) == found


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("ghcr.io/a/b:1", ["ghcr.io/a/b:1"]),
        ("registry.example.org:5000/a:1", ["registry.example.org:5000/a:1"]),
        ("just a picture", []),
        ("https://example.org/logo.png", []),
        ("logo.png", []),
        ({"repository": "ghcr.io/a/b", "tag": "1"}, ["ghcr.io/a/b:1"]),
        ({"registry": "ghcr.io", "repository": "a/b", "tag": "1", "digest": DIGEST}, [f"ghcr.io/a/b:1@{DIGEST}"]),
        ({"reference": "ghcr.io/a/b:1", "pullPolicy": "Always"}, ["ghcr.io/a/b:1"]),
        ({"repository": "ghcr.io/a/b"}, []),
        ({"type": "string"}, []),
        (None, []),
    ],
)
def test_images_of_custom_objects(image: Any, found: list[str]) -> None:
    assert images_of([{"kind": "EnvoyProxy", "spec": {"provider": [{"container": {"image": image}}]}}]) == found


def test_images_in_the_text_of_a_config_map() -> None:
    text = "limits:\n    image: docker.io/envoyproxy/ratelimit:1 \n  - image: 'ghcr.io/a/b:2'\n image: x\n"
    assert images_of([{"kind": "ConfigMap", "data": {"config.yaml": text, "n": None}}]) == [
        "docker.io/envoyproxy/ratelimit:1",
        "ghcr.io/a/b:2",
    ]


def test_definitions_and_secrets_are_left_alone() -> None:
    schema = {"properties": {"containers": [{"image": "ghcr.io/a/b:1"}]}}
    assert images_of([{"kind": "CustomResourceDefinition", "spec": schema}, {"kind": "Secret", "data": schema}]) == []
