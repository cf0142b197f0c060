"""Charts from a real registry with TLS and a login: resolved, locked, verified, and what goes wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.charts import ChartContent, ChartProblem, Lock, read_bundle, resolve, write_bundle
from talosmith.helm import Client, Credentials, Store
from talosmith.model.cluster import ChartPin
from talosmith.model.secret import Secret
from tests.charts import packed
from tests.real.charts.registry import Registry

HOST = "ghcr.io"


def pushed(registry: Registry, scratch: Path, org: str, *versions: str, note: str = "") -> ChartPin:
    """A small chart in some versions; a pin of the first."""
    chart = scratch / f"web{note}"
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 0.0.1}")
    (chart / "templates" / "a.yaml").write_text(
        f"kind: ConfigMap\nmetadata: {{name: web}}\ndata: {{note: '{note}'}}\n"
    )
    for version in versions:
        registry.push(registry.package(chart, version), f"{HOST}/{org}")
    return ChartPin(f"oci://{HOST}/{org}/web", versions[0])


def resolved(
    registry: Registry, pin: ChartPin, lock: Lock, store: Store, client: Client | None = None
) -> ChartContent:
    mirrors = {HOST: registry.mirror(HOST)}
    contents, problems = resolve({"web": pin}, lock, mirrors=mirrors, store=store, client=client)
    assert problems == []
    return contents["web"]


def problem(
    registry: Registry, pin: ChartPin, lock: Lock, store: Store, client: Client | None = None
) -> ChartProblem:
    mirrors = {HOST: registry.mirror(HOST)}
    contents, (found,) = resolve({"web": pin}, lock, mirrors=mirrors, store=store, client=client)
    assert contents == {}
    return found


def test_a_chart_is_what_helm_packed(reachable: Registry, store: Store, tmp_path: Path) -> None:
    pin = pushed(reachable, tmp_path, "packed", "1.2.3")
    found = resolved(reachable, pin, Lock(), store)
    assert found.archive == (reachable.folder / "packages" / "1.2.3" / "web-1.2.3.tgz").read_bytes()
    assert reachable.blob(found.digest).read_bytes() == found.archive
    assert (found.version, found.pin) == ("1.2.3", pin)


def test_what_is_locked_needs_no_registry_and_is_the_same_elsewhere(
    reachable: Registry, store: Store, tmp_path: Path
) -> None:
    pin = pushed(reachable, tmp_path, "locked", "1.0.0")
    first = resolved(reachable, pin, Lock(), store)
    Lock().with_({"web": first}).write(tmp_path)
    lock = Lock.read(tmp_path)
    write_bundle(tmp_path / "bundle.tgz", {"web": first}, [], lock)
    reachable.stop()
    try:
        assert resolved(reachable, pin, lock, store).archive == first.archive
        away = Store(tmp_path / "away")
        unreachable = problem(reachable, pin, lock, away, Client(sleep=lambda seconds: None))
        assert "Connection refused" in unreachable.what
        assert read_bundle(tmp_path / "bundle.tgz", away) == lock
        assert resolved(reachable, pin, lock, away).archive == first.archive
    finally:
        reachable.start()
    assert resolved(reachable, pin, lock, Store(tmp_path / "third")).archive == first.archive


def test_a_restart_in_between_is_waited_out(
    reachable: Registry, logged_in: Client, store: Store, tmp_path: Path
) -> None:
    pin = pushed(reachable, tmp_path, "restart", "1.0.0")
    reachable.stop()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        reachable.start()

    assert resolved(reachable, pin, Lock(), store, dataclasses.replace(logged_in, sleep=sleep)).version == "1.0.0"
    assert len(waits) == 1


def test_a_version_that_was_pushed_again_is_refused(reachable: Registry, store: Store, tmp_path: Path) -> None:
    pin = pushed(reachable, tmp_path, "again", "1.0.0")
    first = resolved(reachable, pin, Lock(), Store(tmp_path / "first"))
    pushed(reachable, tmp_path, "again", "1.0.0", note="-changed")
    second = resolved(reachable, pin, Lock(), Store(tmp_path / "second"))
    assert first.digest != second.digest
    found = problem(reachable, pin, Lock().with_({"web": first}), store)
    assert f"has the digest {second.digest}, but charts.lock has {first.digest}" in found.what
    pinned = problem(reachable, dataclasses.replace(pin, digest=first.digest), Lock(), store)
    assert f"has the digest {second.digest}, but addons.web.digest has {first.digest}" in pinned.what
    assert not (store.folder / "blobs").exists()


def test_tampered_content_is_refused(reachable: Registry, logged_in: Client, store: Store, tmp_path: Path) -> None:
    pin = pushed(reachable, tmp_path, "tampered", "1.0.0")
    first = resolved(reachable, pin, Lock(), Store(tmp_path / "first"))
    other = packed({"Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}"})
    reachable.blob(first.digest).write_bytes(other.ljust(len(first.archive), b"\0")[: len(first.archive)])
    for lock in (Lock(), Lock().with_({"web": first})):
        found = problem(reachable, pin, lock, store, logged_in)
        assert f"but {first.digest} was promised" in found.what
    assert not (store.folder / "blobs").exists()


def test_near_versions_are_named(reachable: Registry, store: Store, tmp_path: Path) -> None:
    versions = ("1.0.0", "1.1.0", "1.2.0+build.1", "2.0.0-rc.1", "2.0.0")
    pin = pushed(reachable, tmp_path, "versions", *versions)
    found = problem(reachable, dataclasses.replace(pin, version="1.1.1"), Lock(), store)
    assert found.what.endswith(
        "has no version 1.1.1; versions near it: 1.0.0, 1.1.0, 1.2.0+build.1, 2.0.0-rc.1, 2.0.0"
    )
    missing = problem(reachable, ChartPin(f"oci://{HOST}/versions/wbe", "1.0.0"), Lock(), store)
    assert "does not exist (HTTP 404" in missing.what
    for asked, got in (("^1", "1.2.0+build.1"), ("1.2.0+build.1", "1.2.0+build.1"), ("~2.0.0-0", "2.0.0")):
        assert resolved(reachable, dataclasses.replace(pin, version=asked), Lock(), store).version == got


def test_a_wrong_password_is_told_and_not_shown(reachable: Registry, store: Store, tmp_path: Path) -> None:
    pin = pushed(reachable, tmp_path, "password", "1.0.0")
    wrong = Client(credentials={reachable.address: Credentials("talosmith", Secret("wrong-pass"))})
    found = problem(reachable, pin, Lock(), store, wrong)
    assert "asks for a login (HTTP 401)" in found.what
    assert "wrong-pass" not in f"{found}"
    assert "HTTP 401" in problem(reachable, pin, Lock(), store, Client()).what


def test_another_ca_is_not_trusted(
    reachable: Registry, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = pushed(reachable, tmp_path, "ca", "1.0.0")
    monkeypatch.delenv("SSL_CERT_FILE")
    found = problem(reachable, pin, Lock(), store)
    assert "certificate is not trusted" in found.what
    assert "SSL_CERT_FILE" in found.fix


def test_token_logins(
    peer: Callable[[str], Path], tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Registry(tmp_path / "tokens", peer("registry"), peer("helm"), token_login=True) as registry:
        pin = pushed(registry, tmp_path, "tokens", "1.0.0")
        for name, value in registry.environment.items():
            monkeypatch.setenv(name, value)
        assert resolved(registry, pin, Lock(), store).version == "1.0.0"
        wrong = Client(credentials={registry.address: Credentials("talosmith", Secret("wrong-pass"))})
        found = problem(registry, pin, Lock(), Store(tmp_path / "other"), wrong)
        assert "HTTP 401" in found.what
