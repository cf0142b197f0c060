"""`talosmith versions`, and the versions that `validate`, `plan` and `up` refuse unless they are allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from talosmith.cli.app import run
from talosmith.inventory import load
from talosmith.model.versions import KUBERNETES_PATCHES, RECOMMENDED, TALOS_LINES
from talosmith.report.style import Style
from talosmith.report.versions import as_text
from tests.output_schemas import assert_output

Talosmith = Callable[..., tuple[int, str, str]]
ALLOW = ("--allow", "unsupported-versions")


@pytest.fixture
def talosmith(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def call(*line: str) -> tuple[int, str, str]:
        code = run([*line])
        return code, *capsys.readouterr()

    return call


def _pin(folder: Path, talos: str, kubernetes: str) -> None:
    text = f"cluster_name: dev\ntalos_version: {talos}\nkubernetes_version: {kubernetes}\ncontrolplane: 1\n"
    (folder / "cluster.yaml").write_text(text)


def _pinned(talosmith: Talosmith) -> dict[str, object]:
    code, out, _ = talosmith("versions", "-o", "json")
    assert code == 0
    (data,) = assert_output("versions", out, "json")
    found: dict[str, object] = data["inventory"]
    return found


def test_the_matrix_needs_no_inventory(talosmith: Talosmith) -> None:
    code, out, err = talosmith("versions")
    assert (code, err) == (0, "")
    rows = [line.split()[:2] for line in out.splitlines()[1 : len(TALOS_LINES) + 1]]
    assert rows == [[f"1.{minor}", TALOS_LINES[1, minor].latest] for _, minor in sorted(TALOS_LINES, reverse=True)]
    assert all(patch in out for patch in KUBERNETES_PATCHES.values())
    assert f"Talos {RECOMMENDED.latest} and Kubernetes {RECOMMENDED.kubernetes}" in out
    as_json, as_yaml = talosmith("versions", "-o", "json")[1], talosmith("versions", "-o", "yaml")[1]
    (data,) = assert_output("versions", as_json, "json")
    assert data["inventory"] is None
    assert [data] == assert_output("versions", as_yaml, "yaml") == [yaml.safe_load(as_yaml)]


def test_text_fits_a_terminal_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    text = as_text(None, Style(sys.stdout), 80)
    assert max(map(len, text.splitlines())) <= 80


def test_what_the_inventory_pins(talosmith: Talosmith, tmp_path: Path) -> None:
    _pin(tmp_path, "v1.13.4", "v1.36.3")
    _, out, _ = talosmith("versions")
    assert out.splitlines()[:4] == [
        "dev: supported",
        "  Talos       v1.13.4, newest patch v1.13.9",
        "  Kubernetes  v1.36.3, newest patch v1.36.5",
        "  upgrades    Talos v1.13.9 → Talos v1.14.1 → Kubernetes v1.37.2",
    ]
    assert next(line for line in out.splitlines() if line.endswith("pinned")).startswith("1.13 ")
    found = _pinned(talosmith)
    assert (found["supported"], found["newest_talos"]) == (True, "v1.13.9")
    assert found["upgrade_path"] == [
        {"component": "talos", "version": "v1.13.9"},
        {"component": "talos", "version": "v1.14.1"},
        {"component": "kubernetes", "version": "v1.37.2"},
    ]


@pytest.mark.parametrize(
    ("talos", "kubernetes", "supported", "said"),
    [
        ("v1.14.1", "v1.38.0", False, "dev: not supported"),
        ("v1.13.1", "v1.36.3", False, "Talos v1.13.1: withdrawn release"),
        ("v1.10.8", "v1.33.6", True, "upgrade to Talos v1.10.9 (etcd 3.5.26) before Talos 1.11"),
        ("v1.15.0", "v1.38.0", None, "v1.15.0, of a minor version that talosmith does not know"),
        ("v1.15.0", "v1.31.0", False, "dev: not supported"),
        ("v1.7.6", "v1.30.0", False, "dev: not supported"),
    ],
)
def test_pairs_that_are_not_simply_supported(
    talos: str, kubernetes: str, supported: bool | None, said: str, talosmith: Talosmith, tmp_path: Path
) -> None:
    """Also those of an inventory that `validate` refuses."""
    _pin(tmp_path, talos, kubernetes)
    assert said in talosmith("versions")[1]
    assert _pinned(talosmith)["supported"] is supported


def test_an_inventory_that_is_named_must_exist_and_be_readable(talosmith: Talosmith, tmp_path: Path) -> None:
    assert talosmith("versions", "-i", str(tmp_path / "none"))[0] != 0
    (tmp_path / "cluster.yaml").write_text("cluster_name: dev\n")
    code, _, err = talosmith("versions")
    assert code == 65 and "talos_version" in err


def test_an_unsupported_pair_is_refused_unless_it_is_allowed(talosmith: Talosmith, tmp_path: Path) -> None:
    _pin(tmp_path, "v1.13.9", "v1.37.1")
    code, out, err = talosmith("validate")
    assert (code, out) == (65, "")
    assert "error: Kubernetes v1.37.1 does not run on Talos v1.13.9" in err
    assert "fix: for example v1.36.3, or pass --allow unsupported-versions" in err
    code, out, err = talosmith("validate", *ALLOW)
    assert (code, "(1 warning)" in out) == (0, True)
    assert "warning: Kubernetes v1.37.1 does not run on Talos v1.13.9" in err and "--allow" not in err
    assert talosmith("show")[0] == 0
    assert str(load(tmp_path).kubernetes_version) == "v1.37.1"


def test_plan_refuses_before_it_looks_at_anything(
    talosmith: Talosmith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _pin(tmp_path, "v1.13.9", "v1.37.1")
    code, out, err = talosmith("plan", "--new-secrets", "-o", "json")
    assert code == 65
    problem = json.loads(out)["problems"][0]
    assert problem["message"] == "Kubernetes v1.37.1 does not run on Talos v1.13.9"
    code, out, err = talosmith("plan", "--new-secrets", "-o", "json", *ALLOW)
    assert code == 2, err
    assert [one["message"] for one in json.loads(out)["warnings"]] == [problem["message"]]
    assert (
        talosmith("plan", "--new-secrets", "--out", "plan.json", *ALLOW)[2].count(
            "--allow unsupported-versions plan.json"
        )
        == 1
    )


def test_a_newer_talos_is_a_warning(talosmith: Talosmith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _pin(tmp_path, "v1.15.0", "v1.38.0")
    code, _, err = talosmith("validate")
    assert code == 0 and err.count("warning: ") == 2
    assert talosmith("plan", "--new-secrets")[0] == 2


def test_only_what_can_be_allowed_is_accepted(talosmith: Talosmith) -> None:
    code, _, err = talosmith("validate", "--allow", "everything")
    assert code == 64 and "'everything' is not one of unsupported-versions" in err
