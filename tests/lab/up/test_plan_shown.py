"""What `plan`, `up` and `diff` show of a running cluster: exit codes, values, causes named once, and no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.up.places import Here

pytestmark = pytest.mark.slow

PASSWORD, CONTENT = "hunter2-hunter2", "content-that-is-secret"
PATCH = f"""\
machine:
  sysctls: {{vm.max_map_count: "262144"}}
  env: {{HTTPS_PROXY: "http://me:{PASSWORD}@proxy.example:3128"}}
  files: [{{path: /var/etc/a, permissions: 0o600, op: create, content: {CONTENT}}}]
"""


def patched(here: Here, text: str = PATCH) -> None:
    file = here.folder / "patches" / "global" / "all.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def secrets(here: Here) -> set[str]:
    """Every text of the secrets file that is no certificate, and what the patch hides."""
    found = {PASSWORD, CONTENT}

    def collect(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                collect(inner, name)
        elif isinstance(value, str) and key != "crt" and len(value) >= 8:
            found.add(value)

    collect(here.kit.bundle.to_mapping())
    return found


def test_exit_codes_values_and_secrets(here: Here) -> None:
    here.write(1, 2)
    assert here.run("plan").code == 2
    assert here.up().code == 0
    in_sync = here.run("plan")
    assert (in_sync.code, in_sync.out) == (0, "✓ in sync: mine matches the inventory\n")
    same = here.run("diff")
    assert (same.code, same.out) == (0, "✓ cp-1, w-1, w-2: in sync\n")

    patched(here)
    saved = here.root / "saved.json"
    shown = [here.run("plan", "-o", form, "--out", str(saved)) for form in ("text", "json", "yaml", "markdown")]
    shown += [here.run("diff"), here.run("diff", "-o", "json")]
    assert {ended.code for ended in shown} == {2}
    texts = [ended.said for ended in shown] + [saved.read_text()]
    assert not [secret for secret in secrets(here) for text in texts if secret in text]
    for text in (texts[0], texts[4]):
        assert "+ machine.sysctls.vm.max_map_count: 262144" in text
        assert "+ machine.env.HTTPS_PROXY: ***" in text
        assert f"+ machine.files[0].content: {len(CONTENT)} characters" in text
    assert "w-1, w-2\n" in texts[0]
    assert "  + machine.sysctls.vm.max_map_count: 262144\n" in texts[3]
    only = json.loads(here.run("diff", "-n", "w-2", "-o", "json").out)
    assert [(one["node"], one["state"]) for one in only["nodes"]] == [("w-2", "different")]
    changes = {one["name"]: one for one in only["nodes"][0]["changes"]}
    assert changes["machine.env.HTTPS_PROXY"] == {
        "name": "machine.env.HTTPS_PROXY", "before": None, "after": "***", "masked": True
    }  # fmt: skip
    assert here.run("diff", "-n", "w-9").code == 64


def test_versions_that_differ_are_drift_and_another_kubernetes_is_blocked_once(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    inventory = here.folder / "cluster.yaml"
    before = inventory.read_text()
    plan = here.plan()
    assert plan["in_sync"]
    talos = next(line.split()[1] for line in before.splitlines() if line.startswith("talos_version"))
    newer = talos.rpartition(".")[0] + ".99"
    inventory.write_text(before.replace(talos, newer))
    for _ in ("with a changed installer image", "with an empty plan"):
        ended = here.up()
        assert ended.code == 2 and f"Talos {talos} → {newer}" in ended.said, "done, and not in sync"
    drift = [(one["node"], one["kind"], one["live"], one["wanted"]) for one in here.plan()["drift"]]
    assert drift == [(name, "talos-version", talos, newer) for name in ("cp-1", "w-1")]
    ended = here.run("plan")
    assert ended.code == 2
    assert f"drift: cp-1, w-1: Talos {talos} → {newer}: run an upgrade" in ended.out
    assert "not in sync: 2 nodes differ from the inventory; up has nothing to do" in ended.out

    kubernetes = next(line.split()[1] for line in before.splitlines() if line.startswith("kubernetes_version"))
    other = kubernetes.rpartition(".")[0] + ".99"
    inventory.write_text(before.replace(kubernetes, other))
    cause = "blocked: cp-1, w-1: Kubernetes version differs"
    planned, refused = here.run("plan"), here.up()
    assert planned.code == refused.code == 6
    for text in (planned.said, refused.said):
        assert text.count("Kubernetes version differs") == text.count(cause) == 1, text
        assert text.count(f"kubernetes_version: {kubernetes} → {other}") == 1
        assert f"fix: talosctl upgrade-k8s --to {other[1:]}" in text
    lines = [json.loads(line) for line in here.up("-o", "json").out.splitlines()]
    assert [(line["kind"], line["exit_code"]) for line in lines] == [("Error", 6), ("Result", 6)]
    assert str(lines).count("Kubernetes version differs") == 1
