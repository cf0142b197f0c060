"""Which changes of machine configs are refused: by what configs mean, in the form of either Talos."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.changes import changed_fields
from talosmith.desired.config.compare import differing_paths
from talosmith.desired.config.generate import Options, Role, generate
from talosmith.desired.config.schema.contracts import CONTRACTS
from talosmith.desired.config.schema.documents import Document
from talosmith.operations.config_changes import refusal, remarks
from talosmith.plan.blocked import Blocked
from tests.lab.lab_worlds import quick_bundle

BUNDLE, OTHER = quick_bundle(), quick_bundle()
LINES = [(1, 13), (1, 14)]


def config(
    line: tuple[int, int], role: Role = "controlplane", bundle: Any = BUNDLE, **changes: Any
) -> list[Document]:
    given = {"cluster_name": "a", "endpoint": "https://192.0.2.1:6443", "install_image": "installer:v1.14.1"}
    options = {**given, "kubernetes_version": "1.36.3", "contract": CONTRACTS[line], **changes}
    return list(generate(role, Options(**options), bundle))


def judged(before: list[Document], after: list[Document]) -> Blocked | None:
    return refusal(before, after, differing_paths(before, after), changed_fields(before, after), running=True)


@pytest.mark.parametrize("role", ["controlplane", "worker"])
@pytest.mark.parametrize("line", LINES)
def test_another_kubernetes_is_refused_once(line: tuple[int, int], role: Role) -> None:
    blocked = judged(config(line, role), config(line, role, kubernetes_version="1.36.4"))
    assert blocked is not None and "Kubernetes version differs" in blocked.cause
    assert [str(one) for one in blocked.settings] == ["kubernetes_version: v1.36.3 → v1.36.4"]
    kubelet = "machine.kubelet.image" if line == (1, 13) else "KubeletConfig/image"
    assert f"{kubelet} differs" in blocked.symptoms


@pytest.mark.parametrize("line", LINES)
def test_what_is_fixed_at_bootstrap_is_refused(line: tuple[int, int]) -> None:
    blocked = judged(config(line), config(line, pod_subnets=("10.9.0.0/16",), dns_domain="other"))
    assert blocked is not None and "cannot change after bootstrap" in blocked.cause
    place = "cluster.network." if line == (1, 13) else "KubeNetworkConfig/"
    assert {one.name for one in blocked.settings} == {f"{place}podSubnets", f"{place}dnsDomain"}


@pytest.mark.parametrize("role", ["controlplane", "worker"])
@pytest.mark.parametrize("line", LINES)
def test_other_secrets_are_refused_and_not_shown(line: tuple[int, int], role: Role) -> None:
    blocked = judged(config(line, role), config(line, role, OTHER))
    assert blocked is not None and "does not rotate secrets" in blocked.cause
    told = " ".join(blocked.symptoms)
    assert ("cluster.ca" if line == (1, 13) else "KubeAPIServerCAConfig") in told and "BEGIN" not in told
    assert not blocked.settings


@pytest.mark.parametrize("role", ["controlplane", "worker"])
def test_the_same_config_in_the_form_of_1_14_is_no_change_that_is_refused(role: Role) -> None:
    assert judged(config((1, 13), role), config((1, 14), role)) is None


def test_what_does_less_than_expected_is_said() -> None:
    for line in LINES:
        before = config(line)
        assert any("next installation" in one for one in remarks(before, config(line, install_disk="/dev/sdb")))
        assert any("previous CNI" in one for one in remarks(before, config(line, cni={"name": "none"})))
        assert any("kube-proxy" in one for one in remarks(before, config(line, kube_proxy=False)))
        assert remarks(before, before) == []
