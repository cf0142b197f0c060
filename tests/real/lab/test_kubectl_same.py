"""The real `kubectl` says the same of the lab as of a real API server: answers, tables, complaints, exit codes."""

from __future__ import annotations

import difflib
import re
import shlex
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.kube.kube_lab import lab_kubernetes
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.fixtures import kube_apiserver
from tests.real.kube.signing import certificate_request
from tests.real.lab.kubectl_tool import Kubectl, Said, normal
from tests.real.lab.lab_cluster import PATIENCE

__all__ = ["kube_apiserver"]

pytestmark = pytest.mark.slow

SCENARIOS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("kubectl_scenarios.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def lab_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with lab_kubernetes(tmp_path_factory.mktemp("kubectl-lab")) as found:
        yield found


def words(step: str) -> list[str]:
    """As a shell takes them apart, but JSON and templates stay as they are written."""
    if " -p " in step:
        head, _, tail = step.partition(" -p ")
        return [*shlex.split(head), "-p", tail]
    return shlex.split(step)


def shown(said: Said, what: str) -> Said:
    """What is behind the bar of a step: lines to leave out, or `fields` for what comes after all prose."""
    if what == "fields":
        return Said(said.code, said.out[said.out.find("FIELDS:") :], said.err)
    kept = [line for line in said.out.splitlines() if not what or what not in line]
    return Said(said.code, "\n".join(kept), said.err)


def played(kubectl: Kubectl, steps: list[str]) -> list[Said]:
    found = []
    edits = iter(["edit.sh", "spoil.sh"])
    for step in steps:
        editor = str(kubectl.folder / next(edits)) if step.startswith("edit ") else ""
        command, _, expected = step.partition(" | until ")
        if expected:
            found.append(asked_until(kubectl, words(command), expected))
            continue
        command, _, what = step.partition(" | without ") if " | without " in step else step.partition(" | ")
        found.append(shown(kubectl.run(*words(command), editor=editor), what))
    return found


def asked_until(kubectl: Kubectl, command: list[str], expected: str) -> Said:
    """What it says in the end. A real server follows its own objects (kinds, rights) a moment later."""
    end = time.monotonic() + PATIENCE
    while not re.search(expected, (said := kubectl.run(*command)).all) and time.monotonic() < end:
        time.sleep(0.2)
    return said


def difference(step: str, real: Said, lab: Said) -> str:
    """Empty if there is none."""
    texts = [f"ends with {said.code}\n{normal(said.out)}\n{normal(said.err)}".splitlines() for said in (real, lab)]
    lines = list(difflib.unified_diff(*texts, "real", "lab", n=1, lineterm=""))
    return "\n".join([f"$ kubectl {step}", *lines, ""]) if lines else ""


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_say_the_same(
    peer: Callable[[str], Path],
    kube_apiserver: ApiServer,
    lab_api: tuple[str, Any],
    tmp_path: Path,
    unique: str,
    name: str,
) -> None:
    worlds = {"real": (kube_apiserver.address, kube_apiserver.bundle), "lab": lab_api}
    request = certificate_request("system:node:x", ["x"], ["10.0.0.1"])

    def filled(text: str) -> str:
        return text.replace("<ns>", unique).replace("<request>", request)

    steps = [filled(step) for step in SCENARIOS[name]["steps"]]

    def play(world: str) -> list[Said]:
        folder = tmp_path / world
        kubectl = Kubectl.of(peer("kubectl"), folder, *worlds[world], namespace=unique)
        for file, content in SCENARIOS[name].get("files", {}).items():
            (folder / file).write_text(filled(content), encoding="utf-8")
            (folder / file).chmod(0o755)
        kubectl.done("create", "namespace", unique)
        return played(kubectl, steps)

    with ThreadPoolExecutor(len(worlds)) as both:
        real, lab = both.map(play, ("real", "lab"))
    differences = [found for told in zip(steps, real, lab, strict=True) if (found := difference(*told))]
    assert not differences, "\n" + "\n".join(differences)


@pytest.fixture
def unique() -> str:
    """A name that no other test has."""
    return f"t{uuid.uuid4().hex[:10]}"
