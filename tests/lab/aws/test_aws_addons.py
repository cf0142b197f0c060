"""The sandbox of AWS with its add-ons: talos-ccm initialises nodes, then aws-ccm and the EBS driver are Ready."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from talosmith.inventory import load
from talosmith.kube import KubeClient
from tests.addon_charts import addons_of, mirrors_block, offer_addons
from tests.chart_server import serving
from tests.lab.aws.outcomes_aws import converged
from tests.lab.aws.sites import EXAMPLES, Computer

pytestmark = [pytest.mark.slow, pytest.mark.real]  # for their length alone


async def test_the_sandbox_with_its_addons(computers: Callable[..., Computer]) -> None:
    computer = computers()
    with serving() as server:
        computer.append("../base/cluster.yaml", addons_of(EXAMPLES / "base" / "cluster.yaml"))
        offer_addons(server, load(computer.folder))
        computer.append("../base/cluster.yaml", mirrors_block(server))
        assert "✓ add-ons are ready" in computer.must("up", "--yes")
        converged(computer, ["cp-1"], ["w-1"])
        listed = computer.must("addons", "list")
        for name in ("aws-ccm", "aws-ebs-csi", "metrics-server", "talos-ccm"):
            (line,) = [one for one in listed.splitlines() if one.startswith(f"{name} ")]
            assert "in sync" in line
        address = computer.machines()["cp-1"]["address"]
        async with KubeClient.from_bundle(computer.kit.bundle, [address]) as kube:
            nodes = (await kube.list("v1", "Node")).items
        taints = [taint["key"] for node in nodes for taint in node["spec"].get("taints", ())]
        assert "node.cloudprovider.kubernetes.io/uninitialized" not in taints
        assert all(node["spec"].get("providerID") for node in nodes)
        assert computer.destroy().code == 0
