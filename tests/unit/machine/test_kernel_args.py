"""Kernel arguments in patches: the patch is named, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.desired.config.patch.apply import load_patch
from talosmith.desired.machine.check import check_configs
from talosmith.desired.machine.kernel_args import kernel_arg_problems
from talosmith.inventory import load

MERGE = "machine:\n  install:\n    extraKernelArgs:\n      - console=ttyS0\n"
LEGACY = "machine: {install: {grubUseUKICmdline: false, extraKernelArgs: [console=ttyS0]}}\n"
OPERATION = "- {op: add, path: /machine/install/extraKernelArgs/-, value: console=ttyS0}\n"
WHOLE = '[{"op": "replace", "path": "/machine/install", "value": {"extraKernelArgs": ["console=ttyS0"]}}]'
NO_EFFECT = "machine.install.extraKernelArgs has no effect"


@pytest.mark.parametrize(
    ("text", "talos", "expected"),
    [
        (MERGE, (1, 9), []),
        (MERGE, (1, 10), [f"warning: {NO_EFFECT} on machines that boot by UEFI"]),
        (MERGE, (1, 11), [f"warning: {NO_EFFECT} on machines that boot by UEFI"]),
        (MERGE, (1, 12), [f"error: {NO_EFFECT} with Talos 1.12"]),
        (MERGE, (1, 14), [f"error: {NO_EFFECT} with Talos 1.14"]),
        (OPERATION, (1, 13), [f"error: {NO_EFFECT} with Talos 1.13"]),
        (WHOLE, (1, 13), [f"error: {NO_EFFECT} with Talos 1.13"]),
        (LEGACY, (1, 12), []),
        (LEGACY, (1, 13), ["warning: an upgrade drops machine.install.extraKernelArgs"]),
        ("machine: {install: {extraKernelArgs: []}}\n", (1, 14), []),
        ("machine: {install: {disk: /dev/sda}}\n", (1, 14), []),
        ("- {op: remove, path: /machine/install/extraKernelArgs}\n", (1, 14), []),
        ("apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n", (1, 14), []),
    ],
)
def test_what_is_said_of_a_patch(text: str, talos: tuple[int, int], expected: list[str]) -> None:
    problems = list(kernel_arg_problems(load_patch(text, "patches/global/1.yaml"), talos))
    assert [f"{problem.severity}: {problem.what}" for problem in problems] == expected
    assert all(problem.file == "patches/global/1.yaml" and "image.kernel_args" in problem.fix for problem in problems)


@pytest.mark.parametrize(
    ("talos", "kubernetes", "severity"), [("v1.13.9", "v1.36.3", "error"), ("v1.11.6", "v1.34.1", "warning")]
)
def test_it_is_found_by_validate_with_file_and_line(
    talos: str, kubernetes: str, severity: str, tmp_path: Path
) -> None:
    pins = f"talos_version: {talos}\nkubernetes_version: {kubernetes}\n"
    (tmp_path / "cluster.yaml").write_text(f"cluster_name: dev\n{pins}controlplane: 1\n")
    (tmp_path / "patches" / "controlplane").mkdir(parents=True)
    (tmp_path / "patches" / "controlplane" / "console.yaml").write_text(MERGE)
    (problem,) = check_configs(load(tmp_path))
    assert (problem.severity, problem.line) == (severity, 4)
    assert problem.file.endswith("patches/controlplane/console.yaml")


def test_arguments_of_the_inventory_are_what_it_asks_for(tmp_path: Path) -> None:
    pins = "talos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
    image = "image:\n  kernel_args: [console=ttyS0]\n"
    (tmp_path / "cluster.yaml").write_text(f"cluster_name: dev\n{pins}controlplane: 1\n{image}")
    cluster = load(tmp_path)
    assert check_configs(cluster) == []
    assert cluster.nodes[0].image.kernel_args == ["console=ttyS0"]
