"""A simulated AWS with nodes of the lab behind its instances, and computers on which talosmith runs.

There is one simulated AWS in a test process; each computer has an account in it, so that scenarios do not meet. All
labs share one event loop.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from itertools import count
from pathlib import Path
from typing import Any

import boto3

from talosmith.desired.secrets_file import RULES_FILE, SECRETS_FILE
from talosmith.model.secret import Secret
from talosmith.providers.lab.client import LabClient
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_loop import LabLoop
from tests.lab.up.places import Ended, Here, Kit
from tests.loopback import free_network
from tests.simulators.aws import Call, Cloud, Server, serving
from tests.simulators.aws.balancer import Forwarder
from tests.simulators.aws.lab_guests import LabGuests

EXAMPLES = Path(__file__).parents[3] / "examples" / "aws"
ENVIRONMENTS = ("sandbox", "staging", "production")
_accounts = count(200000000000)


class _ManyLabs:
    """Guests of all computers: the network of an instance says whose lab it is in."""

    def __init__(self) -> None:
        self.labs: dict[str, LabGuests] = {}
        self._known: dict[str, LabGuests] = {}  # by instance: one that is terminated has no address any more

    def _of(self, instance: Any) -> LabGuests | None:
        if instance.id not in self._known:
            address = ip_address(instance.private_ip)
            here = [lab for network, lab in self.labs.items() if address in ip_network(network)]
            self._known |= dict.fromkeys([instance.id], here[0]) if here else {}
        return self._known.get(instance.id)

    def __getattr__(self, name: str) -> Any:
        def tell(instance: Any) -> None:
            if (lab := self._of(instance)) is not None:
                getattr(lab, name)(instance)

        return tell


@dataclass
class Region:
    """The simulated AWS of this process."""

    cloud: Cloud
    server: Server
    labs: LabLoop
    guests: _ManyLabs = field(default_factory=_ManyLabs)
    computers: int = 0


@contextmanager
def region(labs: LabLoop) -> Iterator[Region]:
    cloud = Cloud()
    with serving(cloud) as server, Forwarder(cloud, free_network()).running():
        yield Region(cloud, server, labs)


@dataclass(slots=True)
class Computer(Here):
    """Where a person runs talosmith on an environment of the example, changed no more than addresses need.

    It is without add-ons: these tests are about machines, and charts would be pulled for each.
    """

    at: Region = None  # type: ignore[assignment]
    environment: str = "sandbox"
    account: str = ""
    domain: str = "example.org"
    lab_server: LabServer = None  # type: ignore[assignment]
    guests: LabGuests = None  # type: ignore[assignment]
    before: dict[str, Any] = field(default_factory=dict)  # the account, before talosmith came
    own: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def make(cls, kit: Kit, folder: Path, at: Region, environment: str = "sandbox", account: str = "") -> Computer:
        return cls(
            kit,
            Path(tempfile.mkdtemp(dir=folder)),
            free_network(),
            at=at,
            environment=environment,
            account=account or str(next(_accounts)),
        )

    def __post_init__(self) -> None:
        Here.__post_init__(self)
        shutil.copytree(EXAMPLES, self.folder.parent, dirs_exist_ok=True)
        base = self.folder / "../base/cluster.yaml"
        base.write_text(base.read_text().partition("\naddons:\n")[0])
        self.change("../base/cluster.yaml", ("vpc_cidr: 10.0.0.0/16", f"vpc_cidr: {self.network}"))
        self.at.computers += 1
        if self.at.computers > 1:  # names are resolved for all accounts together
            self.domain = f"c{self.at.computers}.example.org"
            for file in ("../base/cluster.yaml", "cluster.yaml"):
                self.change(file, ("example.org", self.domain))
        self.append("../base/cluster.yaml", "\nnetwork: {cp_ip_offset: 4, worker_ip_offset: 8}\n")
        folder = Path(tempfile.mkdtemp(prefix="lab-"))
        self.own.callback(shutil.rmtree, folder, ignore_errors=True)
        self.lab_server = LabServer(folder, LabOptions(clock="instant", network=self.network, token="let-me-in"))
        labs, cloud = self.at.labs, self.at.cloud
        labs.result(self.lab_server.start())
        self.own.callback(lambda: labs.result(self.lab_server.stop()))
        self.guests = LabGuests(self.lab_server, labs.loop, self._talos_version())
        self.guests.behind(cloud)  # public addresses are those of the lab, and targets are healthy if they listen
        self.at.guests.labs[self.network] = self.guests
        cloud.guests = self.at.guests  # type: ignore[assignment]
        self.client("ec2").describe_vpcs()  # so that the account exists
        cloud.add_hosted_zone(self.domain, self.account)
        self.before = self.kept()

    def _talos_version(self) -> str:
        text = (EXAMPLES / "base" / "cluster.yaml").read_text()
        found = re.search(r"^talos_version: (v\S+)", text, re.MULTILINE)
        assert found
        return found[1]

    @property
    def folder(self) -> Path:
        return self.root / "aws" / self.environment

    @property
    def env(self) -> dict[str, str]:
        return {**Here.env.__get__(self), **self.at.server.env(self.account)}

    def client(self, service: str) -> Any:
        """For what others do in the account."""
        env = self.at.server.env(self.account)
        return boto3.client(
            service, endpoint_url=env["AWS_ENDPOINT_URL"], region_name=env["AWS_REGION"],
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"], aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip

    def append(self, file: str, text: str) -> None:
        with (self.folder / file).open("a") as there:
            there.write(text)

    # Commands

    @property
    def name(self) -> str:
        """The cluster's."""
        return f"talos-{self.environment}"

    @property
    def destroying(self) -> tuple[str, ...]:
        return ("destroy", "--yes", "--confirm", self.name)

    def destroy(self, *argv: str, **options: Any) -> Ended:
        return self.run(*self.destroying, *argv, **options)

    def make_secrets(self) -> None:
        """Of its own: so it is another cluster than that of computers with the secrets of all."""
        for name in (SECRETS_FILE, RULES_FILE):
            (self.folder / name).unlink()
        shutil.rmtree(self.root / "config")
        assert SECRETS_FILE in self.must("secrets", "init")

    # The world

    @property
    def lab(self) -> LabClient:
        lab = self.lab_server
        return LabClient("behind AWS", *lab.address, Secret(lab.options.token))

    def kept(self) -> dict[str, Any]:
        """All that exists in the account."""
        self.at.cloud.kept()  # what is due is done
        if self.guests is not None:
            self.guests.settle()
        found: dict[str, Any] = self.at.cloud.kept().get(self.account, {})
        return found

    def new(self) -> set[tuple[str, str, str]]:
        """Region, kind and id of all that was not there before."""
        return flat(self.kept()).keys() - flat(self.before).keys()

    def instances(self) -> dict[str, Any]:
        """By node; no two have one name."""
        found = [one for one in self.at.cloud.instances() if one.owner_id == self.account]
        names = [_tags(one).get("talosmith-node", one.id) for one in found]
        assert len(set(names)) == len(names), f"a node has two instances: {names}"
        return dict(zip(names, found, strict=True))

    def calls(self) -> Any:
        return Here.calls(self)

    def aws_calls(self, *, mutating: bool | None = None) -> list[Call]:
        mine = [call for call in self.at.cloud.calls if call.account == self.account]
        return [call for call in mine if mutating is None or call.mutating == mutating]

    def assert_clean(self) -> None:
        """Nothing of the cluster is left, and all else is what it was."""
        left, before = flat(self.kept()), flat(self.before)
        assert left == before, (left.keys() ^ before.keys(), [key for key in before if left.get(key) != before[key]])
        assert not self.lab_server.control.list_machines()
        assert not self.guests.problems

    def end(self) -> None:
        self.at.guests.labs.pop(self.network, None)
        self.own.close()
        shutil.rmtree(self.root, ignore_errors=True)


def _tags(instance: Any) -> dict[str, str]:
    return {one["key"]: one["value"] for one in instance.get_tags()}


def flat(kept: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    """By region, kind and id."""
    return {
        (where, kind, name): value
        for where, kinds in kept.items()
        for kind, things in kinds.items()
        for name, value in things.items()
    }
