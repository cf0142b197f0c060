"""`talosmith graph` as a person types it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.report.data import as_json
from tests.unit.report.stories import bring_up_plan

EXAMPLES = Path(__file__).parents[3] / "examples"
Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str]) -> Talosmith:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(as_json(bring_up_plan().as_data()), encoding="utf-8")
    return path


def test_topology_is_printed_as_mermaid_or_svg(talosmith: Talosmith) -> None:
    code, out, _ = talosmith("graph", "topology", "-i", EXAMPLES / "libvirt-ha")
    assert (code, out.splitlines()[3]) == (0, "flowchart TB")
    code, out, _ = talosmith("graph", "topology", "-i", EXAMPLES / "libvirt-ha", "--format", "svg")
    assert code == 0
    assert out.startswith("<svg ")
    assert "talos-cp-3" in out


def test_the_name_of_the_file_says_the_form(talosmith: Talosmith, plan_file: Path, tmp_path: Path) -> None:
    code, out, err = talosmith("graph", "plan", plan_file, "--out", tmp_path / "plan.svg")
    assert (code, out, err) == (0, "", f"wrote {tmp_path / 'plan.svg'}\n")
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8").startswith("<svg ")
    talosmith("graph", "plan", plan_file, "--out", tmp_path / "plan.mmd")
    assert (tmp_path / "plan.mmd").read_text(encoding="utf-8").startswith("---\ntitle:")


def test_as_data(talosmith: Talosmith, plan_file: Path) -> None:
    _, out, _ = talosmith("graph", "plan", plan_file, "-o", "json")
    data = json.loads(out)
    assert len(data["boxes"]) == 19
    assert {"from": "etcd/bootstrap", "to": "cluster/controlplane"} in data["edges"]


def test_a_plan_may_come_through_a_pipe(talosmith: Talosmith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(as_json(bring_up_plan(1, 0).as_data())))
    code, out, _ = talosmith("graph", "plan", "-")
    assert code == 0
    assert 'title: "up dev: 7 steps"' in out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read"),
        ("{", "it is not JSON"),
        ("[]", "it has no steps"),
        ('{"steps": 1}', "it has no steps"),
    ],
)
def test_what_is_no_plan_is_refused(content: str | None, said: str, talosmith: Talosmith, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    code, out, err = talosmith("graph", "plan", file)
    assert (code, out) == (64, "")
    assert said in err
    assert "talosmith plan --out FILE" in err


def test_steps_that_are_no_steps_are_left_out(talosmith: Talosmith, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"steps": [1, {"key": "a/b", "subject": "a"}, {}, null]}', encoding="utf-8")
    code, out, _ = talosmith("graph", "plan", file, "-o", "json")
    assert code == 0
    assert [box["id"] for box in json.loads(out)["boxes"]] == ["a/b"]


def test_a_folder_that_is_not_there_is_told(talosmith: Talosmith, tmp_path: Path) -> None:
    code, _, err = talosmith("graph", "topology", "-i", EXAMPLES / "lab", "--out", tmp_path / "no" / "x.svg")
    assert code == 1
    assert "cannot write" in err
