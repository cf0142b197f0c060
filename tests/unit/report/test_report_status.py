"""`status`: header, a line per node within 80 columns, reasons below their node, data with enums, exit codes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from talosmith.desired.target import Desired
from talosmith.errors import ExitCode
from talosmith.model.cluster import ENDPOINT_TO_COME
from talosmith.observed.root_causes import RootCause
from talosmith.observed.status import ClusterStatus, cluster_status
from talosmith.report.status import as_data, as_text
from talosmith.report.status_watch import StatusWatch
from talosmith.report.style import Style
from tests.plans.plan_worlds import desired, observed
from tests.unit.report.screen import Screen

WORKERS = [{"name": f"w-{number}", "ip": f"127.19.0.2{number}"} for number in (1, 2)]
WANTED = desired({"controlplane": 3, "workers": WORKERS})
WELL = {"cp-1": "ready", "cp-2": "ready", "cp-3": "ready", "w-1": "ready", "w-2": "ready"}
UNMET = "etcd not running, kube-apiserver pending, kube-controller-manager pending, kube-scheduler pending"


def status(wanted: Desired = WANTED, causes: Sequence[RootCause] = (), **states: Any) -> ClusterStatus:
    told = {**dict.fromkeys(wanted.nodes, "ready"), **{name.replace("_", "-"): one for name, one in states.items()}}
    return cluster_status(wanted, observed(wanted, told, etcd={}, api=None), causes)


def node(found: ClusterStatus, name: str) -> dict[str, Any]:
    (one,) = (one for one in as_data(found)["nodes"] if one["name"] == name)
    return dict(one)


def text(found: ClusterStatus, width: int = 80) -> list[str]:
    return as_text(found, Style(io.StringIO()), width).splitlines()


def words(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_an_endpoint_that_is_not_known_is_told_as_such() -> None:
    """The load balancer's own name, before there is a load balancer."""
    found = replace(status(), endpoint=f"https://{ENDPOINT_TO_COME}:6443")
    assert text(found)[1] == "  endpoint    not known: the load balancer does not exist"
    assert as_data(found)["endpoint"] == found.endpoint


def test_a_cluster_in_sync_and_healthy() -> None:
    found = status()
    assert found.exit_code == ExitCode.DONE
    vip = WANTED.cluster.network.vip
    assert text(found)[:9] == [
        "t: in sync, healthy",
        f"  endpoint    https://{vip}:6443",
        f"  VIP         {vip} on no control plane",
        "  etcd        3 members, healthy, leader cp-1",
        "  Talos       v1.13.9",
        "  Kubernetes  v1.36.3",
        "",
        "NODE  ROLE          ADDRESS      PHASE  TALOS    K8S      CONFIG",
        f"cp-1  controlplane  {WANTED.nodes['cp-1'].node.ip}  Ready  v1.13.9  v1.36.3  in sync",
    ]
    assert text(found)[-1].split() == ["w-2", "worker", "127.19.0.22", "Ready", "v1.13.9", "v1.36.3", "in", "sync"]


@pytest.mark.parametrize(
    ("state", "phase", "problem", "code"),
    [
        ("gone", "no-machine", "", ExitCode.CHANGES_PENDING),
        ("maintenance", "maintenance", "", ExitCode.CHANGES_PENDING),
        ("off", "off", "machine is powered off", ExitCode.UNHEALTHY),
        ("lost", "no-machine", "node is not Ready", ExitCode.UNHEALTHY),
        ("unknown", "unknown", "connection refused", ExitCode.UNHEALTHY),
        ("silent", "unreachable", "connection refused", ExitCode.UNHEALTHY),
        ("foreign", "foreign", "shows a certificate of another cluster", ExitCode.UNHEALTHY),
        ("unready", "not-ready", "kubelet not running", ExitCode.UNHEALTHY),
        ("booting", "joining", "kubelet not running", ExitCode.UNHEALTHY),
        ({"is": "ready", "cordoned": "talosmith"}, "ready", "cordoned by talosmith", ExitCode.UNHEALTHY),
        ({"is": "ready", "cordoned": "other"}, "ready", "", ExitCode.DONE),
        ({"is": "ready", "talos": "v1.13.8"}, "ready", "", ExitCode.CHANGES_PENDING),
        ({"is": "ready", "pending_reboot": True}, "ready", "", ExitCode.CHANGES_PENDING),
        ("ready", "ready", "", ExitCode.DONE),
    ],
)
def test_phase_problem_and_exit_code_of_a_worker(state: Any, phase: str, problem: str, code: ExitCode) -> None:
    found = status(w_1=state)
    one = node(found, "w-1")
    assert (one["phase"], found.exit_code) == (phase, code)
    assert problem in one["problems"] if problem else not one["problems"]
    assert as_data(found)["healthy"] is (code != ExitCode.UNHEALTHY)
    if problem:
        assert problem in words(text(found))


def test_a_root_cause_that_no_node_shows_is_the_clusters() -> None:
    dns = RootCause(kind="check", cause="CoreDNS is not ready: 0 of 2 pods", checks=("coredns",))
    kubelet = RootCause(kind="check", cause="kubelet is not healthy: w-1", nodes=("w-1",), checks=("kubelet",))
    found = status(causes=(dns, kubelet), w_1="unready")
    assert found.problems == (dns.cause,), "w-1 shows its own problem"
    assert dns.cause in words(text(found))
    assert status(causes=(dns,)).exit_code == ExitCode.UNHEALTHY


def test_a_cordon_of_an_administrator_is_shown() -> None:
    assert "cordoned, not by talosmith" in words(text(status(w_1={"is": "ready", "cordoned": "other"})))


def test_an_unhealthy_node_wins_over_drift() -> None:
    found = status(w_1="silent", w_2="maintenance")
    assert found.exit_code == ExitCode.UNHEALTHY
    assert text(found)[0] == "t: out of sync (2 nodes), unhealthy (1 node)"


@pytest.mark.parametrize(
    ("state", "etcd", "phase"),
    [
        ("learning", "learner", "joining"),
        ("waiting", "waiting", "joining"),
        ("sick", "unhealthy", "not-ready"),
        ("silent", "unknown", "unreachable"),
    ],
)
def test_etcd_of_a_control_plane(state: str, etcd: str, phase: str) -> None:
    found = status(cp_3=state)
    assert (node(found, "cp-3")["etcd"], node(found, "cp-3")["phase"]) == (etcd, phase)
    assert found.exit_code == ExitCode.UNHEALTHY


def test_versions_in_the_header_say_what_is_wanted_and_what_runs() -> None:
    lines = text(status(w_1={"is": "ready", "talos": "v1.13.8"}))
    assert "  Talos       v1.13.9; running: v1.13.8 on w-1, v1.13.9 on cp-1, cp-2, cp-3, w-2" in lines
    assert "      Talos v1.13.8 → v1.13.9" in lines


def test_the_vip_has_a_holder() -> None:
    seen = observed(WANTED, WELL, etcd={}, api=None)
    held = replace(seen, nodes={**seen.nodes, "cp-2": replace(seen.nodes["cp-2"], holds_vip=True)})
    vip = str(WANTED.cluster.network.vip)
    assert as_data(cluster_status(WANTED, held))["vip"] == {"address": vip, "holder": "cp-2"}
    assert f"  VIP         {vip} on cp-2" in text(cluster_status(WANTED, held))
    assert f"  VIP         {vip} on no control plane" in text(status())


def test_a_cluster_that_does_not_exist_is_out_of_sync_not_unhealthy() -> None:
    found = status(**dict.fromkeys(("cp_1", "cp_2", "cp_3", "w_1", "w_2"), "gone"))
    assert found.exit_code == ExitCode.CHANGES_PENDING
    assert text(found)[0] == "t: out of sync (5 nodes), not bootstrapped"
    assert as_data(found)["healthy"] is False


def test_what_the_inventory_no_longer_has() -> None:
    found = status(w_9="ready")
    assert node(found, "w-9")["drift"] == [{"kind": "not-in-inventory", "live": "exists", "wanted": ""}]
    assert "      not in the inventory" in text(found)


def test_data_has_enums_and_times() -> None:
    data = as_data(status())
    assert data["observed_at"] == "1970-01-01T00:00:00Z"
    assert data["etcd"] == {"bootstrapped": True, "leader": "cp-1", "members": 3, "healthy_members": 3}
    assert data["talos"] == {"wanted": "v1.13.9", "running": ["v1.13.9"]}
    assert {one["config"] for one in data["nodes"]} == {"in-sync"}


LONG = "talos-control-plane-rack-12-datacenter-frankfurt"


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("name", ["n", "talos-worker-of-rack-12", LONG], ids=["short", "longer", "very long"])
@pytest.mark.parametrize("address", ["127.19.0.21", "fd00:1234:5678:9abc:def0:1234:5678:9abc"])
def test_lines_fit_and_reasons_are_whole(name: str, address: str, width: int) -> None:
    states = ("ready", "unready", "silent", "foreign", {"is": "ready", "config": {"machine.sysctls": {"a": "1"}}})
    found = status(**dict(zip((one.replace("-", "_") for one in WANTED.nodes), states, strict=True)))
    problems = (UNMET, f"no connection to [{address}]:50000 (connection refused)")
    nodes = tuple(
        replace(one, name=f"{name}-{place}", address=address, problems=problems if one.problems else ())
        for place, one in enumerate(found.nodes)
    )
    lines = text(replace(found, nodes=nodes), width)
    assert max(map(len, lines)) <= width
    shown = words(lines)
    assert shown.count(UNMET) == shown.count(problems[1]) == sum(bool(one.problems) for one in nodes)
    assert all(sum(f"{name}-{place}" in line for line in lines) >= 1 for place in range(5))
    assert address in shown and "differs" in shown


def test_watching_marks_and_lists_what_changed_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen(80, 30)
    watch = StatusWatch(screen, size=screen.size)
    watch.show(status())
    assert not any(line.startswith("*") for line in screen.shown())
    watch.show(replace(status(w_1="off"), at=5.0))
    lines = screen.shown()
    assert [line.split()[:2] for line in lines if line.startswith("*")] == [["*", "w-1"]]
    assert "00:00:05  w-1: Ready → off" in lines
    assert sum(line.startswith("t: ") for line in lines) == 1, "one table, kept up to date"
    watch.show(replace(status(w_1="off"), at=60.0))
    assert not any(line.startswith("*") for line in screen.shown()), "a mark does not stay"


def test_watching_fits_a_screen_of_any_height(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen(80, 12)
    watch = StatusWatch(screen, size=screen.size)
    for at, state in enumerate(("off", "ready", "silent")):
        watch.show(replace(status(w_1=state), at=float(at)))
    assert len(screen.shown()) <= 11
    assert sum(line.startswith("t: ") for line in screen.shown()) == 1


def test_watching_in_a_pipe_prints_a_table_for_each_change() -> None:
    stream = io.StringIO()
    watch = StatusWatch(stream)
    for at, state in enumerate(("ready", "ready", "off", "off", "ready")):
        watch.show(replace(status(w_1=state), at=float(at)))
    printed = stream.getvalue()
    assert printed.count("NODE") == 3 and "\x1b" not in printed
    assert [line.split()[1] for line in printed.splitlines() if line.startswith("*")] == ["w-1", "w-1"]
