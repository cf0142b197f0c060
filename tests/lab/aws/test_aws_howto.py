"""The how-to of AWS, followed to the letter: each command typed in order, with the answers of a person.

AWS is simulated, with nodes of the lab behind its instances, and allows no more than the policy of the page from the
moment it is printed. Names of the simulated Route 53 are known to Python alone, so `talosmith` is started with them,
and `kubectl` is a stand-in that asks the API for its nodes, by the kubeconfig.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.desired.secrets_file import RULES_FILE, SECRETS_FILE
from tests.docs.pages import ROOT, Reader, commands
from tests.lab.aws.sites import Computer
from tests.unit.providers.aws.aws_policies import for_simulator

pytestmark = pytest.mark.slow

PAGE = "docs/howto/aws.md"
UP = "talosmith -e sandbox up"
CHANGES = 2  # `plan`: changes pending
ONE, TWO = "workers:\n  count: 1", "workers:\n  count: 2"  # the change on the page
TALOSMITH = """\
from tests.lab.aws.warm_aws import _nodes_are_of_the_lab
from tests.simulators.aws_names import resolve

_nodes_are_of_the_lab()
resolve(zones=True)

from talosmith.__main__ import main

sys.exit(main())
"""
KUBECTL = """\
import asyncio
from pathlib import Path

from talosmith.kube import KubeClient, list_nodes
from tests.simulators.aws_names import resolve

resolve(zones=True)
option, file, *rest = sys.argv[1:]
assert (option, rest) == ("--kubeconfig", ["get", "nodes"]), sys.argv


async def nodes() -> None:
    async with KubeClient.from_kubeconfig(Path(file).read_text()) as client:
        for node in (await list_nodes(client)).values():
            print(node.name, "Ready" if node.ready else "NotReady")


asyncio.run(nodes())
"""


def reader_at(computer: Computer, folder: Path) -> Reader:
    """In `examples/aws`, with the account's credentials in the environment, and without secrets."""
    tools = folder / "tools"
    tools.mkdir()
    for name, program in {"talosmith": TALOSMITH, "kubectl": KUBECTL}.items():
        start = f"#!{sys.executable}\nimport sys\n\nsys.path.insert(0, {str(ROOT)!r})\n\n"
        (tools / name).write_text(start + program)
        (tools / name).chmod(0o755)
    for name in (SECRETS_FILE, RULES_FILE):
        (computer.folder / name).unlink()
    access = computer.at.server.env(computer.account)
    return Reader(computer.folder.parent, exported={**access, "PATH": f"{tools}:/usr/bin:/bin"})


def test_the_page(computers: Callable[..., Computer], tmp_path: Path) -> None:
    computer = computers()
    reader = reader_at(computer, tmp_path)
    answers = {UP: "y\n", "talosmith -e sandbox destroy": "talos-sandbox\n"}
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    shown: dict[str, list[str]] = {}
    for line in commands(PAGE):
        if line == UP and line in shown:
            assert page.count(f"```yaml\n{TWO}\n```") == 1
            computer.change("cluster.yaml", (ONE, TWO))
        code, said = reader.types(line, answers.get(line, ""))
        assert code == (CHANGES if " plan" in line else 0), f"$ {line}\nexit code {code}\n{said}"
        shown.setdefault(line, []).append(said)
        if "aws-policy" in line:
            policy = json.loads((reader.folder / "policy.json").read_text())
            computer.at.cloud.allow_only(for_simulator(policy))

    assert re.search(r"✓ permissions: all \d+ actions", shown["talosmith -e sandbox doctor"][0])
    (plan,) = shown["talosmith -e sandbox plan"]
    assert "billed by aws: 2 × t3.medium" in plan and "create dns-record k8s.sandbox.example.org" in plan
    first, second = shown[UP]
    assert "2 nodes: cp-1, w-1" in first and "1 node: w-2" in second
    (nodes,) = [said for line, (said, *_) in shown.items() if line.startswith("kubectl")]
    assert re.findall(r"^(\S+) Ready$", nodes, re.MULTILINE) == ["cp-1", "w-1"], nodes
    computer.at.cloud.allow_only(None)
    computer.assert_clean()
