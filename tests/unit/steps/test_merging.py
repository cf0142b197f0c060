"""This cluster's entries in the user's own files: added, renewed, and never over somebody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.errors import Permanent
from talosmith.steps.merging import merge_kubeconfig, merge_talosconfig, users_kubeconfig


def kubeconfig(authority: str, key: str = "k", name: str = "home") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": "https://x:6443", "certificate-authority-data": authority}}
        ],
        "users": [{"name": f"admin@{name}", "user": {"client-key-data": key}}],
        "contexts": [{"name": f"admin@{name}", "context": {"cluster": name, "user": f"admin@{name}"}}],
        "current-context": f"admin@{name}",
    }


def talosconfig(authority: str, key: str = "k", name: str = "home") -> dict[str, Any]:
    return {"context": name, "contexts": {name: {"ca": authority, "crt": "c", "key": key}}}


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data))
    return path


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_a_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    into = tmp_path / "new" / "config"
    assert merge_kubeconfig(write(tmp_path / "ours", kubeconfig("A")), into) == "admin@home"
    assert read(into) == kubeconfig("A")
    assert (into.stat().st_mode & 0o777, into.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_others_stay_and_ours_becomes_the_current_one(tmp_path: Path) -> None:
    into = write(tmp_path / "config", kubeconfig("B", name="work"))
    merge_kubeconfig(write(tmp_path / "ours", kubeconfig("A")), into)
    found = read(into)
    assert [one["name"] for one in found["clusters"]] == ["work", "home"]
    assert found["users"][0] == kubeconfig("B", name="work")["users"][0]
    assert found["current-context"] == "admin@home"


def test_ours_is_renewed_in_its_place(tmp_path: Path) -> None:
    into = write(tmp_path / "config", kubeconfig("A", key="old"))
    merge_kubeconfig(write(tmp_path / "ours", kubeconfig("A", key="new")), into)
    assert read(into) == kubeconfig("A", key="new")


def test_a_cluster_of_the_same_name_is_not_replaced(tmp_path: Path) -> None:
    into = write(tmp_path / "config", kubeconfig("B", key="theirs"))
    ours = write(tmp_path / "ours", kubeconfig("A", key="ours"))
    assert merge_kubeconfig(ours, into) == "admin@home-1"
    assert merge_kubeconfig(ours, into) == "admin@home-1"  # again: the same place
    found = read(into)
    assert {one["name"]: one["user"]["client-key-data"] for one in found["users"]} == {
        "admin@home": "theirs",
        "admin@home-1": "ours",
    }
    context = next(one["context"] for one in found["contexts"] if one["name"] == "admin@home-1")
    assert context == {"cluster": "home-1", "user": "admin@home-1"}


def test_talosconfig(tmp_path: Path) -> None:
    into = write(tmp_path / "config", talosconfig("B", key="theirs"))
    ours = write(tmp_path / "ours", talosconfig("A", key="ours"))
    assert merge_talosconfig(ours, into) == "home-1"
    write(ours, talosconfig("A", key="renewed"))
    assert merge_talosconfig(ours, into) == "home-1"
    contexts = read(into)["contexts"]
    assert (contexts["home"]["key"], contexts["home-1"]["key"]) == ("theirs", "renewed")


@pytest.mark.parametrize("text", ["- a list", "a: [", "\x00"], ids=["list", "broken", "no-text"])
def test_what_cannot_be_read_stays_as_it_is(tmp_path: Path, text: str) -> None:
    into = tmp_path / "config"
    into.write_text(text)
    with pytest.raises(Permanent, match="nothing was merged into it"):
        merge_kubeconfig(write(tmp_path / "ours", kubeconfig("A")), into)
    assert into.read_text() == text


def test_the_first_of_several_kubeconfigs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    assert users_kubeconfig() == tmp_path / "a"
