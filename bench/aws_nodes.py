"""Nodes of the lab behind the instances of the bench's simulated AWS, for talosmith, whose plan asks them.

A network for each environment: an instance at an address of it is a node of that environment's lab. Load balancers
forward to control planes, and are found by name in a process that asks the simulated Route 53 (`UP`); `plan` does
without. It all runs in the process of the simulator, whose CPU seconds are nobody's: where nodes and AWS are asked at
the same time, they share one core, and that is in talosmith's seconds alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples" / "aws"
FIRST = {"controlplane": 4, "workers": 8}  # of a role's addresses in each subnet: networks of this computer are small
VERSION = "v1.14.1"  # of Talos, in the examples and in aws_tofu

# `talosmith`, but on a computer that resolves names by the simulated Route 53, and that need not be patient.
UP = """\
import sys

from tests.lab.aws.warm_aws import _nodes_are_of_the_lab
from tests.simulators.aws_names import resolve

_nodes_are_of_the_lab()
resolve(zones=True)

from talosmith.__main__ import main

sys.exit(main())
"""


@contextmanager
def nodes_behind(cloud: Any, server: Any, networks: Sequence[str]) -> Iterator[None]:
    """Until the end, or until the cloud is reset: instances that start are nodes from now on."""
    from talosmith_lab.server.lab import LabOptions, LabServer
    from tests.lab.aws.sites import Region  # which needs what only a developer has
    from tests.lab.lab_loop import LabLoop
    from tests.loopback import free_network
    from tests.simulators.aws.balancer import Forwarder
    from tests.simulators.aws.lab_guests import LabGuests

    with ExitStack() as stack:
        labs = LabLoop()
        labs.start()
        stack.callback(labs.stop)
        guests = Region(cloud, server, labs).guests
        for network in networks:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True)))
            lab = LabServer(folder, LabOptions(clock="instant", network=network, token="bench"))  # noqa: S106
            labs.result(lab.start())
            stack.callback(lambda lab=lab: labs.result(lab.stop()))
            guests.labs[network] = LabGuests(lab, labs.loop, VERSION)
            guests.labs[network].behind(cloud)  # which makes targets healthy that listen
        cloud.guests = guests
        stack.enter_context(Forwarder(cloud, free_network()).running())
        yield


def write_inventory(folder: Path, networks: Mapping[str, str]) -> None:
    """The examples at other addresses, without add-ons: Terraform installs none. `networks`: by environment."""
    shutil.copytree(EXAMPLES, folder)
    base = folder / "base" / "cluster.yaml"
    offsets = f"network: {{cp_ip_offset: {FIRST['controlplane']}, worker_ip_offset: {FIRST['workers']}}}"
    base.write_text(f"{base.read_text().partition(chr(10) + 'addons:')[0]}\n{offsets}\n")
    for name, network in networks.items():
        file = folder / name / "cluster.yaml"
        text = file.read_text()
        assert "\naws:\n" in text, f"{name} has no section aws"
        file.write_text(text.replace("\naws:\n", f"\naws:\n  vpc_cidr: {network}\n"))
