"""Manifests are read as the real kubectl reads them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from talosmith.kube import KubeClient, apply, read
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE

_SCALARS = """
yes no on off y n Y N Yes NO True FALSE tRue null Null ~ nULL
0 1 -1 +1 0644 0755 08 0o17 0x1F 0b101 1_000 -0x1F 0_7
1.5 1. .5 1e3 1E3 1e+3 -1.5e-3 1.5_0 12:30 1:2:3 190:20:30 52:54:00:11:22:33
2026-01-02 2026-01-02T03:04:05Z 1.2.3 10.0.0.1 1.36 1.30 v1 0.0 1e 0x 0b2 e3 +.5 -.5 ._5
1_0.5 1__0 08.5 0x1_F 1e1_0 + .
"""


async def test_scalars(
    client: KubeClient, kube_apiserver: ApiServer, unique: str, peer: Callable[[str], Path], tmp_path: Path
) -> None:
    group = f"{unique}.example.org"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    await apply(client, [definition])
    lines = [f"  s{number}: {scalar}" for number, scalar in enumerate(_SCALARS.split())]
    lines += ["  empty:", '  text: "0644"', "  block: |", "    one", "    two", "  folded: >-", "    one", "    two"]
    lines += ["  base: &base {a: 1, b: 2}", "  merged: {<<: *base, b: 3}", "  1: number", "  true: boolean"]
    text = f"apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: w}}\nspec:\n" + "\n".join(lines) + "\n"
    (tmp_path / "manifest.yaml").write_text(text)
    command = [
        *(peer("kubectl"), "--kubeconfig", kube_apiserver.kubeconfig, "--cache-dir", tmp_path / "cache"),
        *("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", tmp_path / "manifest.yaml"),
    ]
    async with asyncio.timeout(PATIENCE):
        # The kind is served a moment before it is in the list of all kinds, by which kubectl goes.
        while (
            b"no matches for kind"
            in (told := await asyncio.to_thread(subprocess.run, command, capture_output=True)).stderr
        ):
            await asyncio.sleep(0.1)
    assert told.returncode == 0, told.stderr
    theirs, ours = json.loads(told.stdout)["spec"], read(text)[0]["spec"]
    different = {
        key: (theirs.get(key), ours.get(key))
        for key in theirs.keys() | ours.keys()
        if not _same(theirs.get(key), ours.get(key))
    }
    names = dict(line.strip().split(": ", 1) for line in lines if ": " in line)
    assert {names.get(key, key): pair for key, pair in different.items()} == {}


def _same(one: object, other: object) -> bool:
    """Python takes `True` for 1; 1000.0 and 1000 are the same number in JSON."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
