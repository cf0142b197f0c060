"""`fix:` lines can be pasted: they carry -i and -e as they were given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talosmith.cli.app import run
from talosmith.cli.pasteable import fixes_pasteable, pasteable, remember

GOOD = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("talosmith up", "talosmith up -i 'my home' -e dev"),
        ("see `talosmith doctor`", "see `talosmith doctor -i 'my home' -e dev`"),
        ("talosmith plan --out FILE", "talosmith plan -i 'my home' -e dev --out FILE"),
        (
            "run `talosmith secrets init`, then talosmith up; or nothing",
            "run `talosmith secrets init -i 'my home' -e dev`, then talosmith up -i 'my home' -e dev; or nothing",
        ),
        ("talosmith plan -i other", "talosmith plan -e dev -i other"),
        ("talosmith plan --inventory=other -e x", "talosmith plan --inventory=other -e x"),
        ("talosmith init", "talosmith init"),  # has no -i
        ("talosmith lab start mine", "talosmith lab start mine"),  # names the lab
        ("use a newer talosmith", "use a newer talosmith"),
        ("talosmith knows 1.8 to 1.14", "talosmith knows 1.8 to 1.14"),
        ("kubectl get nodes", "kubectl get nodes"),
    ],
)
def test_commands_in_hints_get_what_was_given(hint: str, expected: str) -> None:
    remember(["-i", "my home", "plan", "--environment=dev"])
    try:
        assert pasteable(hint) == expected
    finally:
        remember([])
    assert pasteable(hint) == hint


def test_only_fixes_of_a_longer_text_are_changed() -> None:
    remember(["plan", "-ihome"])
    try:
        text = "talosmith up is next\n  fix: talosmith up\nfix: see `talosmith status`"
        assert fixes_pasteable(text) == (
            "talosmith up is next\n  fix: talosmith up -i home\nfix: see `talosmith status -i home`"
        )
    finally:
        remember([])


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["apply", "-i", "home"], "talosmith up -i home"),
        (["-i", "home", "status"], "`talosmith secrets init -i home`"),
        (["plan", "--inventory=home"], "`talosmith secrets init -i home`"),
        (["plan", "-i", "home", "--ou", "x"], "see `talosmith plan -i home --help`"),
        (["-i", "home", "lab", "status"], "`talosmith secrets init -i home`"),
        (["plan", "-e", "dev"], "`talosmith secrets init -e dev`"),
        (["-i", ".", "-e", "dev", "plan"], "`talosmith secrets init -i . -e dev`"),
    ],
)
def test_errors_of_commands(
    arguments: list[str],
    fix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for folder in (tmp_path / "home", tmp_path / "inventory" / "dev"):
        folder.mkdir(parents=True)
        (folder / "cluster.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    assert run(arguments) != 0
    assert fix in capsys.readouterr().err
    run([*arguments, "-o", "json"])
    assert fix in json.loads(capsys.readouterr().out)["fix"]
