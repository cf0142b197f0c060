"""The support bundle: complete, also with nodes down, for the owner's eyes, and without a single secret."""

from __future__ import annotations

import base64
import json
import sqlite3
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.kube import KubeClient
from tests.lab.up.places import Here

CANARY = "canary-R3gistry+Passw0rd"
HIDDEN = "canary-in-an-environment-variable"
REGISTRY = f"""\
patches:
- machine:
    registries: {{config: {{mirror.example: {{auth: {{username: robot, password: {CANARY}}}}}}}}}
    env: {{PROXY_PASSWORD: {HIDDEN}}}
    files: [{{path: /var/etc/extra, permissions: 0o600, op: create, content: {HIDDEN}}}]
"""


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def secrets_of(bundle: Bundle) -> Iterator[str]:
    """Every secret of the cluster's bundle, each key as configs hold it and line by line as PEM."""
    data = bundle.to_mapping()
    yield from (data["cluster"]["secret"], data["trustdinfo"]["token"], *data["secrets"].values())
    for pair in data["certs"].values():
        pem = base64.b64decode(pair["key"]).decode()
        yield from (pair["key"], *(line for line in pem.splitlines() if "-----" not in line and len(line) >= 8))


def written(secret: str) -> list[str]:
    """As logs have it: plain, in JSON, in base64 of a longer text, as hex."""
    longer = f"user-data: {secret}\n".encode()
    return [secret, json.dumps({"value": secret}), base64.b64encode(longer).decode(), secret.encode().hex()]


def log(here: Here, machine: str, source: str, lines: list[str]) -> None:
    """The machine's service logs this: the lab reads what services have logged from its store."""
    db = sqlite3.connect(here.lab_folder / "world.db")
    with db:
        (boot,) = db.execute("SELECT max(boot) FROM record WHERE machine = ?", (machine,)).fetchone()
        db.executemany(
            "INSERT INTO record (machine, boot, source, at, text, id, actor, kind, payload)"
            " VALUES (?,?,?,?,?,'','','','{}')",
            [(machine, boot, source, time.time(), line) for line in lines],
        )
    db.close()


async def with_canaries(here: Here) -> None:
    """Objects of Kubernetes with secrets where people put them."""
    host = here.machines()["cp-1"]["address"]
    meta: dict[str, Any] = {"name": "canary", "namespace": "default"}
    noted = {**meta, "annotations": {"note": HIDDEN}}
    container = {"name": "c", "image": "busybox", "args": [HIDDEN], "env": [{"name": "P", "value": HIDDEN}]}
    async with KubeClient.from_bundle(here.kit.bundle, [host]) as kube:
        await kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": noted, "stringData": {"p": HIDDEN}})
        await kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": noted, "data": {"p": HIDDEN}})
        await kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": noted, "spec": {"containers": [container]}})


@pytest.mark.slow
async def test_no_secret_gets_into_the_bundle(here: Here) -> None:
    here.write(1, 1, more=REGISTRY)
    ended = here.up()
    assert ended.code == 0, ended.said
    await with_canaries(here)
    secrets = [*secrets_of(here.kit.bundle), CANARY, here.kit.bundle.cluster_id]
    lines = [f"value {text} end" for secret in secrets for text in written(secret)]
    for machine in ("cp-1", "w-1"):
        for source in ("kubelet", "kernel"):
            log(here, machine, source, lines)
    log(here, "cp-1", "kube-system/kube-apiserver-cp-1", lines)
    assert here.run("node", "logs", "w-1", "kubelet").out.count(CANARY) >= 2  # it really is where it must be stripped

    path = here.root / "bundle.zip"
    ended = here.run("support", "-O", str(path))
    assert ended.code == 0, ended.said
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = contents(path)
    raw = path.read_bytes()
    for secret in [*secrets, HIDDEN]:
        for form in (secret, *(text for text in written(secret))):
            assert form.encode() not in raw
            for name, data in found.items():
                assert form.encode() not in data, f"{name} holds a secret"
    for name in ("logs/kubelet.log", "dmesg.log"):
        text = found[f"nodes/w-1/{name}"].decode()
        assert text.count("REDACTED end") >= len(secrets), text[-500:]
    config = found["nodes/cp-1/machine-config.yaml"].decode()
    assert "password: '******'" in config and "path: /var/etc/extra" in config and "PROXY_PASSWORD" in config
    assert b"canary" in found["kubernetes/pods.json"]
    masked = {one["file"]: one["masked"] for one in json.loads(found["manifest.json"])["files"]}
    assert masked["nodes/w-1/logs/kubelet.log"] >= len(secrets)


@pytest.mark.slow
def test_it_is_complete_and_nodes_may_be_down(here: Here) -> None:
    here.write(1, 2)
    ended = here.up()
    assert ended.code == 0, ended.said
    here.lab.power_off("w-2")
    path = here.root / "bundle.zip"
    ended = here.run("support", "--out", str(path), "-o", "json")
    assert ended.code == 0, ended.said
    summary = json.loads(ended.out)
    found = contents(path)
    assert (summary["kind"], sorted(summary["files"])) == ("SupportBundle", sorted(found))
    assert "[3/3]" in ended.err and "w-2: the machine is powered off" in ended.err

    manifest = json.loads(found["manifest.json"])
    assert {"file": "nodes/w-2/", "reason": "w-2: the machine is powered off"} in manifest["missing"]
    assert [one for one in manifest["missing"] if not one["file"].startswith("nodes/w-2/")] == []
    expected = {
        *("inventory.yaml", "plan.txt", "status.txt", "health.txt", "doctor.txt", "runs.txt", "versions.json"),
        *("kubernetes/nodes.json", "kubernetes/pods.json", "kubernetes/events.json"),
        *(f"nodes/cp-1/etcd-{name}.json" for name in ("status", "members", "alarms")),
        *(f"nodes/w-1/{name}" for name in ("dmesg.log", "services.json", "events.jsonl", "machine-config.yaml")),
        *(f"nodes/w-1/resources/{name}.yaml" for name in ("members", "addressstatuses", "linkstatuses")),
        *("nodes/cp-1/resources/staticpods.yaml", "nodes/w-1/logs/kubelet.log", "nodes/w-2/console.log"),
    }
    assert expected <= found.keys()
    assert any(name.startswith("runs/") and name.endswith(".jsonl") for name in found)
    assert b"cluster_name: mine" in found["inventory.yaml"] or b"name: mine" in found["inventory.yaml"]
    assert b"w-2" in found["plan.txt"] and b"exit code 5" in found["health.txt"]
    assert [one["metadata"]["name"] for one in json.loads(found["kubernetes/nodes.json"])["items"]]

    again = here.run("support", "-O", str(path))
    assert again.code != 0 and "already exists" in again.err, again.said  # a file of the user's is not overwritten


@pytest.mark.slow
def test_without_any_machine_there_is_still_a_bundle(here: Here) -> None:
    here.write(1, 0)
    path = here.root / "bundle.zip"
    ended = here.run("support", "-O", str(path))
    assert ended.code == 0, ended.said
    assert "not collected:" in ended.err
    assert {"plan.txt", "manifest.json"} <= contents(path).keys()


def test_a_scrubber_that_misses_a_secret_keeps_the_bundle_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from talosmith.errors import Permanent
    from talosmith.support.archive import Files, write
    from talosmith.support.scrub import Scrubber

    files, scrubber = Files(), Scrubber([CANARY])
    files.add("a.log", CANARY)
    monkeypatch.setattr(scrubber, "scrub", lambda data: (data, 0))
    with pytest.raises(Permanent, match="still holds a secret"):
        write(tmp_path / "bundle.zip", files, scrubber, {})
    assert not (tmp_path / "bundle.zip").exists()
