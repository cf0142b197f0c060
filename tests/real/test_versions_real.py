"""The matrix of versions beside Talos' own library, and pins beside what the index of Go modules serves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.images import ImageRequest
from talosmith.model.versions import KUBERNETES_PATCHES, RECOMMENDED, TALOS_LINES, Version, line_text
from tools.peers.build import go_binary
from tools.peers.talos_recipes import TALOS, TALOS_1_13

MACHINERY, KUBERNETES = "github.com/siderolabs/talos/pkg/machinery", "k8s.io/kubernetes"
AHEAD = 3  # patch releases that are asked for beyond a pin: a proxy may refuse to list what it has


@pytest.fixture(scope="module")
def compatibility(peer: Callable[[str], Path]) -> Any:
    answer = subprocess.run([peer("talos-machinery"), "compatibility"], capture_output=True, check=True)
    return json.loads(answer.stdout)


def test_the_newest_talos_here_is_the_one_that_is_compared_with() -> None:
    assert TALOS_LINES[max(TALOS_LINES)].latest == TALOS


@pytest.mark.parametrize("number", sorted(TALOS_LINES), ids=line_text)
def test_a_line_supports_what_talos_says(number: tuple[int, int], compatibility: Any) -> None:
    line, said = TALOS_LINES[number], compatibility["talos"][line_text(number)]
    minors = range(line.oldest_kubernetes, line.newest_kubernetes + 1)
    assert said["kubernetes"] == [f"1.{minor}" for minor in minors]
    hosts = range(line.oldest_host[1], line.newest_host[1] + 1)
    assert said["hosts"] == [f"1.{minor}" for minor in hosts]


def test_talos_knows_no_newer_line(compatibility: Any) -> None:
    known = {tuple(map(int, name.split("."))) for name in compatibility["talos"]}
    assert max(known) == max(TALOS_LINES)
    assert f"v{compatibility['defaultKubernetes']}" == TALOS_LINES[max(TALOS_LINES)].default_kubernetes


@pytest.mark.parametrize("talosctl", ["talosctl", "talosctl-1.13"])
def test_the_installer_is_the_one_that_talosctl_writes(talosctl: str, peer: Callable[[str], Path]) -> None:
    """The image factory's from Talos 1.14 on, the plain one before."""
    arguments = ("gen", "config", "dev", "https://192.0.2.1:6443", "--output-types", "controlplane", "--output", "-")
    answer = subprocess.run([peer(talosctl), *arguments], capture_output=True, text=True, check=True)
    version = TALOS if talosctl == "talosctl" else TALOS_1_13
    assert f"image: {ImageRequest(Version.parse(version)).installer}\n" in re.sub(r" *#.*", "", answer.stdout)


def test_pins_are_served_and_newer_releases_are_told(tmp_path: Path) -> None:
    """A newer release is a note: it says that the matrix has become old, not that it is wrong."""
    pins = [(MACHINERY, RECOMMENDED.latest), (KUBERNETES, RECOMMENDED.kubernetes)]
    known = [
        *pins,
        *((MACHINERY, line.latest) for line in TALOS_LINES.values()),
        *((KUBERNETES, patch) for patch in KUBERNETES_PATCHES.values()),
    ]
    served = _served(tmp_path, {one for pin in known for one in (pin, *_ahead(*pin))})
    refused = {pin: why for pin in pins if (why := served[pin])}
    unreachable = [why for why in refused.values() if "dial tcp" in why or "lookup " in why]
    if unreachable:
        warnings.warn(f"the index of Go modules cannot be asked: {unreachable[0]}", stacklevel=1)
    else:
        assert not refused
    for module, version in dict.fromkeys(known):
        newer = [other for _, other in _ahead(module, version) if not served[module, other]]
        if newer:
            warnings.warn(f"{module}: {version} is pinned, {newer[-1]} is served", stacklevel=1)


def _ahead(module: str, version: str) -> list[tuple[str, str]]:
    """The next patches, and the first release of the next minor."""
    found = Version.parse(version)
    patches = [Version(found.major, found.minor, found.patch + step) for step in range(1, AHEAD + 1)]
    is_newest = found.line in (max(TALOS_LINES), (1, max(KUBERNETES_PATCHES)))
    return [(module, str(one)) for one in (*patches, *([Version(1, found.minor + 1, 0)] if is_newest else []))]


def _served(folder: Path, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """For each module and version, why it cannot be had; empty: it can."""
    settings = {"GOWORK": "off", "GOFLAGS": "-mod=mod"}
    names = sorted(f"{module}@{version}" for module, version in wanted)
    answer = subprocess.run(
        [go_binary(), "list", "-m", "-e", "-json", *names],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    decoder, rest, found = json.JSONDecoder(), answer.stdout.strip(), {}
    while rest:
        one, end = decoder.raw_decode(rest)
        found[one["Path"], one["Version"]] = one.get("Error", {}).get("Err", "")
        rest = rest[end:].lstrip()
    return found
