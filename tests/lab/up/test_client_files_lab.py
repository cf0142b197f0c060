"""Client files made from the secrets, used on a cluster of the lab."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from talosmith.desired.kubeconfig import new_kubeconfig
from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient, Limits
from tests.lab.up.places import Here

pytestmark = pytest.mark.slow


async def nodes(kubeconfig: str) -> list[str]:
    async with KubeClient.from_kubeconfig(kubeconfig, limits=Limits(attempts=1)) as client:
        return sorted(node["metadata"]["name"] for node in (await client.list("v1", "Node")).items)


def without_credentials(text: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(text)
    credentials = data["users"][0].pop("user")
    assert sorted(credentials) == ["client-certificate-data", "client-key-data"]
    return data


async def test_a_kubeconfig_from_the_secrets_opens_the_api_until_it_expires(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    written = (here.folder / "kubeconfig").read_text()  # by a control plane
    made = here.run("kubeconfig", "--lifetime", "1h", "--out", "-")
    assert made.code == 0, made.said
    assert without_credentials(made.out) == without_credentials(written)
    assert list(yaml.safe_load(made.out)) == list(yaml.safe_load(written))
    assert await nodes(made.out) == ["cp-1", "w-1"]
    server = yaml.safe_load(made.out)["clusters"][0]["cluster"]["server"]
    past = datetime.now(UTC) - timedelta(hours=2)
    expired = new_kubeconfig("mine", here.kit.bundle.k8s, server, lifetime=timedelta(hours=1), now=past)
    with pytest.raises(TalosmithError, match=r"(?i)expired|certificate|unauthorized"):
        await nodes(expired.reveal())


def test_a_short_lived_file_in_the_folder_is_no_drift(here: Here) -> None:
    here.write(1, 0)
    assert here.up().code == 0
    for command in ("kubeconfig", "talosconfig"):
        assert here.run(command, "--lifetime", "8h").code == 0
    assert here.steps() == []
    lines = json.loads(here.run("talosconfig", "--role", "os:reader", "-o", "json").out)
    assert lines["files"][0]["context"] == "mine"
