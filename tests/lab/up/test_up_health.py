"""One definition of healthy: what `up`, `health` and `doctor` say of the same cluster, and their exit codes."""

from __future__ import annotations

import json

import pytest

from talosmith.errors import ExitCode
from tests.lab.up.places import Here

pytestmark = pytest.mark.slow

NO_CNI = "✗ nodes are NotReady: no CNI is installed (cluster.network.cni: none in the machine config)"


def test_without_a_cni_nothing_is_healthy_and_the_user_gets_the_files_to_install_one(here: Here) -> None:
    here.write(1, 1, more="kubernetes: {cni: none}\n")
    first = here.up()
    assert first.code == ExitCode.UNHEALTHY, first.said
    assert NO_CNI in first.out.splitlines()
    assert f"then: talosmith health -i {here.folder}" in first.out and "install a CNI" in first.out
    assert "not healthy after" not in first.said, "it ends as soon as only the CNI is missing, not at the limit"
    assert "nodes are Ready" not in first.out and "to be Ready" not in first.said
    assert {"kubeconfig", "talosconfig"} <= {file.name for file in here.folder.iterdir()}

    assert here.steps() == [], "nodes are in sync"
    again = here.up()
    assert again.code == ExitCode.UNHEALTHY and NO_CNI in again.err, again.said
    health = here.run("health")
    assert health.code == ExitCode.UNHEALTHY
    assert health.out.startswith(f"{NO_CNI}: 2 checks fail\n    fix: install a CNI"), health.out
    assert "✓ etcd is healthy" in health.out.splitlines()
    assert "CoreDNS" not in health.out, "a symptom"
    assert "✗ CoreDNS is not ready" in here.run("health", "--all").out
    status = here.run("status")
    assert status.code == ExitCode.UNHEALTHY
    assert "no CNI is installed" in " ".join(status.out.split()), status.out
    doctor = here.run("doctor")
    assert doctor.code == ExitCode.FAILED and "✗ health: nodes are NotReady: no CNI is installed" in doctor.out
    assert "✓ in sync: 2 nodes" in doctor.out


def test_a_control_plane_that_is_off_is_one_cause_for_health_and_doctor(here: Here) -> None:
    here.write(3, 1)
    assert here.up().code == 0
    healthy = here.run("health")
    assert healthy.code == 0 and "mine is healthy: 14 checks" in healthy.out, healthy.said
    assert here.run("doctor").code == 0
    here.lab.power_off("cp-2")
    told = here.run("health", "-o", "json")
    assert told.code == ExitCode.UNHEALTHY, told.said
    found = json.loads(told.out)
    (cause,) = found["causes"]
    assert (cause["kind"], cause["nodes"]) == ("machine-off", ["cp-2"])
    assert cause["fix"] == f"talosmith up -i {here.folder}"
    conditions = {one["id"]: one for one in found["conditions"]}
    assert set(cause["checks"]) == {name for name, one in conditions.items() if not one["ok"]}
    assert conditions["etcd-healthy"]["name"] == "etcd to be healthy"
    assert list(conditions["apid"]["failures"]) == ["cp-2"]
    text = here.run("health").out
    assert text.startswith("✗ cp-2 is powered off: ") and text.count("✗") == 1, text
    doctor = here.run("doctor", "-o", "json")
    assert doctor.code == ExitCode.FAILED
    errors = [one for one in json.loads(doctor.out)["findings"] if one["level"] == "error"]
    assert [(one["area"], one["check"]) for one in errors] == [("cluster", "health")]
    assert errors[0]["cause"].startswith("cp-2 is powered off: ")


def test_doctor_before_the_cluster_exists(here: Here) -> None:
    here.write(1, 1)
    ended = here.run("doctor", env={"PATH": str(here.root)})
    assert ended.code == 0, ended.said
    lines = [line.strip() for line in ended.out.splitlines()]
    assert [line for line in lines if line.endswith(":")] == ["this computer:", "provider:", "cluster:"]
    assert "- talosctl: not on PATH; optional: talosmith does not need it" in lines, "it is not ticked"
    assert any(line.startswith("✓ Kubernetes CA: valid until 20") for line in lines)
    assert "✓ addresses: 2 free, or of this cluster" in lines
    assert "- health: no cluster exists yet" in lines


def test_doctor_reports_drift_as_a_warning(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    here.write(1, 1, more="patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n")
    ended = here.run("doctor")
    assert ended.code == 0, ended.said
    assert "! cp-1, w-1: machine config differs\n" in ended.out and "0 errors, 1 warning\n" in ended.out
    assert f"fix: talosmith diff -i {here.folder}" in ended.out
    assert "✓ addresses: no new machine needs one" in ended.out
