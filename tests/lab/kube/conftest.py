"""Labs with a Kubernetes API: one that most tests share, and worlds without a network for the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from talosmith.kube import KubeClient
from talosmith_lab.kube.api import Api
from talosmith_lab.kube.cluster import kubernetes_of
from tests.lab.kube.kube_lab import KubeLab, running
from tests.lab.lab_worlds import Configs, Lab


@pytest.fixture
def api(lab: Lab) -> Api:
    """Of a cluster with one control plane, as a controller has it."""
    return Api(kubernetes_of(lab.world, lab.cluster_of("cp-1")))


@pytest.fixture
async def kube(tmp_path_factory: pytest.TempPathFactory, network: str) -> AsyncIterator[KubeLab]:
    configs = Configs(vip=network.replace(".0/24", ".5"))
    async with running(tmp_path_factory.mktemp("lab"), configs, network, "cp-1") as lab:
        yield lab


@pytest.fixture
async def client(kube: KubeLab) -> AsyncIterator[KubeClient]:
    async with kube.client() as one:
        yield one
