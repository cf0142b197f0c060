"""The no-op plan of the three AWS examples on a simulated AWS, next to Terraform's AWS provider.

Each tool creates sandbox, staging and production, an account and a VPC with its machines each, and is then asked, in
a fresh process for each environment, what there is to do: nothing. The first tool's things are gone before the second
begins, and what each of them made is compared. The simulator is a process of its own: it counts calls to AWS, and its
CPU seconds are nobody's. There are two paces: at `instant` a call takes what the simulator takes, at `realistic` each
call also waits 50 ms, as on the way to a region: there it counts what a tool asks at the same time, and what only
after an answer. The best of several turns counts: other work on the computer only ever adds.

Ours is the whole `talosmith plan` of clusters that are up and healthy: nodes of the lab are behind the instances, in
the simulator's process, and it asks each of them for its config and state, and Kubernetes for its nodes. Of that
OpenTofu does nothing; it is in our seconds, and in no calls. Ours knows no state: it finds its things by tags and
paths. It looks the hosted zone up by name, but an image only for machines that are to be created.

OpenTofu, with HashiCorp's provider, knows from its state what it made and asks for each thing by its id; it looks the
image and the hosted zone up by name in each plan. It is initialized before. Its provider is built with the services
that are used here and no others, which should only help it. It stands for Terraform, with which it shares language
and provider. Times to create are not compared: the provider waits in fixed steps of up to a minute, which says
nothing about AWS.

VPCs are networks of this computer, so that nodes can be at their addresses; else all is as in the examples.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.aws_cloud import PACES, Aws, Pace, simulated
from bench.aws_nodes import FIRST, UP, write_inventory
from bench.libvirt import LIMIT, OURS, THEIRS, Took
from bench.measure import Cost, Result, command
from tools.peers import build, built, find
from tools.peers.bench_recipes import TOFU, TOFU_AWS

TURNS = 3
PROVIDER = ("hashicorp/aws", "6.47.1")
RESOURCES = Path(__file__).with_name("aws_tofu")
_SMALL, _LARGE, _XLARGE = "t3.medium", "m6i.large", "m6i.xlarge"
ENVIRONMENTS: dict[str, dict[str, Any]] = {  # as in examples/aws: count, instance type and GB of each role
    "sandbox": {"domain": "sandbox.example.org", "controlplane": (1, _SMALL, 50), "workers": (1, _SMALL, 100)},
    "staging": {"domain": "staging.example.org", "controlplane": (3, _SMALL, 50), "workers": (2, _SMALL, 100)},
    "production": {"domain": "prod.example.org", "controlplane": (3, _LARGE, 50), "workers": (6, _XLARGE, 100)},
}
_NOTHING = "in sync"  # what ours says then
_WITHOUT = ("env", "--unset=AWS_PROFILE", "--unset=AWS_SESSION_TOKEN")  # boto3 takes an empty name for a name
_LIMIT = 300  # seconds in which a run is over, or hangs
_USER_DATA = 10_000  # bytes: about a machine config
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}

Plan = Callable[[str], Cost]  # of one environment, in which nothing is to be done
Taken = dict[tuple[str, Pace, str], Took]  # by tool, pace and environment


def results() -> Iterator[Result]:
    for recipe in (TOFU, TOFU_AWS):
        if not built(recipe):
            print(f"  {recipe.name} {recipe.version}: building, once; it takes minutes", flush=True)
            build(recipe)
    taken: Taken = {}
    made = []
    with tempfile.TemporaryDirectory(prefix="awsb-") as scratch, simulated(ENVIRONMENTS) as aws:
        for name, created in ((THEIRS, opentofu), (OURS, talosmith)):
            aws.reset()
            folder = Path(scratch) / name
            folder.mkdir()
            plan = created(folder, aws)
            made.append(aws.made())
            taken |= _measured(name, aws, plan)
    assert made[0] == made[1], f"these are not the same environments: {made}"
    yield from _compared(taken)


def _measured(name: str, aws: Aws, plan: Plan) -> Taken:
    taken: Taken = {}
    for pace in PACES:
        aws.pace(pace)
        for environment in ENVIRONMENTS:
            took = taken[name, pace, environment] = _took(aws, plan, environment)
            figures = f"{took.seconds:.2f} s, {took.cpu:.2f} s of CPU, {took.calls} calls to AWS"
            print(f"  {name}: no-op plan of {environment}, {pace}: {figures}", flush=True)
    aws.pace("instant")
    return taken


def _took(aws: Aws, plan: Plan, environment: str) -> Took:
    before = aws.calls
    costs = [plan(environment) for _ in range(TURNS)]
    seconds, cpu = min(cost.seconds for cost in costs), min(cost.cpu for cost in costs)
    return Took(seconds, cpu, (aws.calls - before) // TURNS)


def _compared(taken: Taken) -> Iterator[Result]:
    for pace in PACES:
        for of, shown in (("seconds", ".2f"), ("cpu", ".2f"), ("calls", ".0f")):
            figures = {
                name: [float(getattr(taken[name, pace, one], of)) for one in ENVIRONMENTS] for name in (OURS, THEIRS)
            }
            ours, theirs = sum(figures[OURS]), sum(figures[THEIRS])
            each = (f"{mine:{shown}}/{their:{shown}}" for mine, their in zip(*figures.values(), strict=True))
            told = f"{ours:{shown}} against {theirs:{shown}}; {', '.join(each)}"
            what = f"{len(ENVIRONMENTS)} environments unchanged, {pace}, {of}: ours / OpenTofu's"
            yield Result(what, told, ours / theirs, LIMIT)


# The tools: each creates the environments and returns what plans one of them


def talosmith(folder: Path, aws: Aws) -> Plan:
    """Ours: clusters that are up and healthy, with nodes of the lab behind the instances."""
    home = {"HOME": str(folder), "NO_PROXY": "127.0.0.1"}
    home |= {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("STATE", "CACHE", "CONFIG")}
    inventory = folder / "aws"
    write_inventory(inventory, {name: site.network for name, site in aws.sites.items()})
    aws.nodes()

    def ours(program: tuple[str, ...], name: str, *words: str) -> Cost:
        asked: list[str | Path] = [*_WITHOUT, sys.executable, *program, "-e", name, *words, "-i", inventory]
        access = aws.sites[name].access
        return command(["timeout", "--signal=KILL", str(_LIMIT), *asked], runs=1, environment=home | access)

    def create(name: str) -> None:
        ours(("-m", "talosmith"), name, "secrets", "init")
        ours(("-c", UP), name, "up", "--yes")

    def plan(name: str) -> Cost:
        cost = ours(("-m", "talosmith"), name, "plan")  # which ends with 2 if there is something to do
        assert _NOTHING in cost.said, cost.said
        return cost

    for name in ENVIRONMENTS:
        create(name)
    return plan


def opentofu(folder: Path, aws: Aws) -> Plan:
    """Theirs, with a folder and a state for each environment."""
    environment = {
        "HOME": str(folder),
        "AWS_PROFILE": "",
        "AWS_SESSION_TOKEN": "",
        "CHECKPOINT_DISABLE": "1",
        "NO_PROXY": "127.0.0.1",
        "TF_CLI_CONFIG_FILE": str(_settings(folder)),
        "TF_IN_AUTOMATION": "1",
    }
    user_data = folder / "user-data"
    user_data.write_text(hashlib.shake_256(b"config").hexdigest(_USER_DATA // 2))

    def tofu(name: str, *words: str) -> Cost:
        asked: list[str | Path] = [find("tofu"), f"-chdir={folder / name}", *words, "-no-color", "-input=false"]
        access = aws.sites[name].access
        return command(["timeout", "--signal=KILL", str(_LIMIT), *asked], runs=1, environment=environment | access)

    def create(name: str) -> None:
        _write_resources(folder / name, name, aws.sites[name].network, user_data)
        tofu(name, "init")
        tofu(name, "apply", "-auto-approve")

    def plan(name: str) -> Cost:
        return tofu(name, "plan", "-detailed-exitcode")  # which ends with 2 if there is something to do

    with ThreadPoolExecutor() as threads:  # it waits most of the time
        list(threads.map(create, ENVIRONMENTS))
    return plan


def _write_resources(folder: Path, name: str, network: str, user_data: Path) -> None:
    shutil.copytree(RESOURCES, folder)
    values: dict[str, Any] = {"name": f"talos-{name}", "vpc_cidr": network, "first": FIRST}
    values["user_data"] = str(user_data)
    for key, value in ENVIRONMENTS[name].items():
        is_role = isinstance(value, tuple)
        values[key] = dict(zip(("count", "instance_type", "disk"), value, strict=True)) if is_role else value
    (folder / "terraform.tfvars.json").write_text(json.dumps(values))


def _settings(folder: Path) -> Path:
    """The provider is taken from a folder, not from a registry."""
    source, version = PROVIDER
    mirror, settings = folder / "mirror", folder / "tofurc"
    system = f"linux_{_ARCHITECTURE[platform.machine()]}"
    installed = mirror / "registry.opentofu.org" / source / version / system
    installed.mkdir(parents=True)
    (installed / f"terraform-provider-aws_v{version}").symlink_to(find("terraform-provider-aws"))
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
    return settings
