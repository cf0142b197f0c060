"""Checks the answers for a new inventory one by one, by the same rules as the inventory itself.

So a question at a terminal is repeated with the reason at once, and a wrong flag is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from talosmith.errors import UsageError
from talosmith.inventory.load import check_sources
from talosmith.inventory.parse import parse
from talosmith.inventory.sources import CLUSTER_FILE, NODES_FILE, Layer, Sources
from talosmith.inventory.starter import NewInventory, cluster_text, nodes_text
from talosmith.model.providers import PROVIDERS

NEEDS_NETWORK = ("libvirt", "proxmox", "metal")  # providers that neither have nor create a network of their own
NEEDS_VIP = (*NEEDS_NETWORK, "docker")
_FILLERS = {"disk": "/dev/sda", "interface": "eth0"}
_ANSWER_OF = {  # key of the inventory -> answer
    "cluster_name": "name",
    "talos_version": "talos_version",
    "kubernetes_version": "kubernetes_version",
    "network.node_cidr": "node_cidr",
    "network.cp_ip_offset": "node_cidr",
    "network.worker_ip_offset": "node_cidr",
    "network.gateway": "gateway",
    "network.vip": "vip",
    "controlplane.count": "controlplanes",
    "controlplane.disk": "disk",
    "controlplane.interface": "interface",
    "workers.count": "workers",
    "proxmox.url": "proxmox_url",
    "proxmox.node": "proxmox_node",
    "libvirt.uri": "libvirt_uri",
    "aws.region": "region",
    "aws.domain": "domain",
}


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why an answer is refused, and how to correct it."""

    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


def flag(answer: str) -> str:
    return "--" + answer.replace("_", "-")


def wrong_with(answer: str, given: Mapping[str, Any]) -> Wrong | None:
    """What is wrong with one of the answers given so far; None if nothing is."""
    value: Any = given.get(answer)
    provider = given.get("provider", NewInventory.provider)
    match answer:
        case "provider" if value not in PROVIDERS:
            return Wrong(f"`{value}` is not a provider", f"one of {', '.join(PROVIDERS)}")
        case "controlplanes" if value < 1:
            return Wrong("a cluster needs at least 1 control plane")
        case "controlplanes" if value % 2 == 0:
            return Wrong(f"{value} control planes tolerate no more failures than {value - 1}", "use 1, 3 or 5")
        case "workers" if value < 0:
            return Wrong(f"{value} is not a number of workers", "0 or more")
        case "node_cidr" if value is None:
            return Wrong(f"the network of the nodes is required for {provider}", "for example 192.168.1.0/24")
        case "vip" if value is None:
            return Wrong(f"{given['controlplanes']} control planes need a VIP for the Kubernetes API")
        case "disk" | "interface" if value is None:
            return Wrong(f"required for {provider}", f"for example {_FILLERS[answer]}")
    return _by_the_rules(answer, given)


def required(given: Mapping[str, Any]) -> list[str]:
    """Answers that these require for a valid inventory."""
    provider = given.get("provider", NewInventory.provider)
    found = ["node_cidr"] if provider in NEEDS_NETWORK else []
    if provider in NEEDS_VIP and given.get("controlplanes", 1) > 1:
        found.append("vip")
    return found + (["disk", "interface"] if provider == "metal" else [])


def check_flags(given: Mapping[str, Any], *, complete: bool = True) -> None:
    """Raise `UsageError` that names each flag with a wrong value and, if they must be complete, each missing one."""
    names = [field.name for field in fields(NewInventory)]
    wanted = sorted({*given, *(required(given) if complete else ())}, key=names.index)
    found = {answer: wrong for answer in wanted if (wrong := wrong_with(answer, given)) is not None}
    if len(found) == 1:
        (answer, wrong), *_ = found.items()
        raise UsageError(f"{flag(answer)}: {_with_flags(wrong.what)}", hint=wrong.fix)
    if found:
        raise UsageError("\n".join(f"{flag(answer)}: {_with_flags(str(wrong))}" for answer, wrong in found.items()))


def _with_flags(text: str) -> str:
    for key, answer in _ANSWER_OF.items():
        text = text.replace(f"`{key}`", flag(answer))
    return text


def _by_the_rules(answer: str, given: Mapping[str, Any]) -> Wrong | None:
    """The first error about this answer that the whole inventory would have."""
    fillers = {one: _FILLERS[one] for one in required(given) if one in _FILLERS}
    answers = NewInventory(**{**fillers, **given})
    if answers.provider not in PROVIDERS:
        return None  # which is another answer's fault
    texts = {CLUSTER_FILE: cluster_text(answers), NODES_FILE: nodes_text(answers)}
    documents = [parse(text.encode(), name) for name, text in texts.items()]
    report = check_sources(Sources([Layer(Path(), documents)], []), CLUSTER_FILE)
    for problem in report.problems:
        key = ".".join(step for step in report.paths.get(problem, ()) if isinstance(step, str))
        if problem.severity == "error" and _ANSWER_OF.get(key) == answer:
            return Wrong(re.sub(rf"^{re.escape(key)}: ", "", problem.what), problem.fix)
    return None


def name_of(folder: Path) -> str:
    """A cluster name after the folder; the default where that has no letter or digit."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")[:63].strip("-")
    return name or NewInventory.name


def free_address(node_cidr: str) -> str:
    """An address to propose for the VIP: before those of the nodes."""
    network = ip_network(node_cidr)
    return str(network[5]) if network.num_addresses > 8 else ""
