"""Logins of registries, as Docker and Helm keep them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from talosmith.errors import SecretsError
from talosmith.helm import Client, RegistryChart, Release, Store, logins, render
from tests.chart_server import ChartServer
from tests.charts import chart


def write(path: Path, auths: dict[str, object]) -> Path:
    path.write_text(json.dumps({"auths": auths, "credsStore": "not-run"}))
    return path


def auth(username: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{username}:{password}".encode()).decode()}


def test_a_registry_is_entered_with_the_login_of_the_file(
    tmp_path: Path, server: ChartServer, store: Store, waits: list[float]
) -> None:
    server.push("web", "1.0.0", chart())
    server.login, server.token_login = ("user", "pa:ss"), True
    known = logins.read([write(tmp_path / "config.json", {server.host: auth("user", "pa:ss")})])
    client = Client(credentials=known, sleep=waits.append, timeout=120)
    source = RegistryChart(f"oci://{server.host}/web:1.0.0")
    assert [one.name for one in render(source, Release("r"), client=client, store=store).objects] == ["r-1.0.0"]


def test_the_later_file_wins_and_empty_entries_are_none(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a.json",
        {"https://ghcr.io/v1/": auth("old", "x"), "quay.io": {}, "docker.io": {"username": "u", "password": "p"}},
    )
    second = write(tmp_path / "b.json", {"ghcr.io": auth("new", "y")})
    found = logins.read([first, tmp_path / "none.json", second])
    assert {host: (one.username, one.password.reveal()) for host, one in found.items()} == {
        "ghcr.io": ("new", "y"),
        "docker.io": ("u", "p"),
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"auths": {"h": {"auth": "hush-%%"}}}', '{"auths": 5}'])
def test_a_broken_file_is_told_without_its_content(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(SecretsError) as caught:
        logins.read([path])
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None
