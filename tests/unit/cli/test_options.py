"""Option types that commands share."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from talosmith.cli.options import Duration, NodeOption, application, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("90s", 90), ("5m", 300), ("1h30m", 5400), ("30d", 2_592_000), ("1.5h", 5400), ("250ms", 0.25)],
        *[("12", 12), ("0", 0), (300.0, 300)],
        *[(wrong, None) for wrong in ("", "m", "5 m", "-5m", "30m1h", "5w", "nan", "inf", "1e3")],
    ],
)
def test_durations_are_read_as_people_write_them(text: str | float, expected: float | None) -> None:
    assert seconds(text) == expected


app = application("A command with a duration.")


@app.command()
def command(
    wait: Annotated[float, Duration("--wait", help="How long to wait.", least=1, example="10m")] = 300.0,
    node: NodeOption = None,
) -> None:
    typer.echo(f"{wait} {node}")


def called(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_a_command_gets_seconds_and_nodes() -> None:
    assert called() == (0, "300.0 None\n")
    assert called("--wait", "1h30m", "-n", "cp-1", "--node", "w-1") == (0, "5400.0 ['cp-1', 'w-1']\n")


@pytest.mark.parametrize("text", ["soon", "0.5s", "-1"])
def test_a_wrong_duration_names_the_option_and_an_example(text: str) -> None:
    code, output = called("--wait", text)
    assert code == 2
    assert "--wait" in output
    assert "10m" in output
