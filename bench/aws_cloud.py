"""The simulated AWS of the bench, in a process of its own: it counts calls, and its CPU seconds are nobody's.

Asked by a line, it answers by a line. Each environment has an account, as in the examples, with the hosted zone that
they expect, and a network of this computer, in which its instances are nodes of a lab if these are asked for. `pace`
is what each call waits before it is answered: at `instant` nothing, at `realistic` about what a call to a region of
the same continent takes. The calls of one client wait at the same time, as they would there; the simulator then
answers one after the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

ZONE = "example.org"
Pace = Literal["instant", "realistic"]
PACES: dict[Pace, float] = {"instant": 0.0, "realistic": 0.05}  # seconds
_MANAGED = {"MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}  # which moto has, but only when it is asked for them


@dataclass(frozen=True, slots=True)
class Site:
    """What an environment has."""

    access: dict[str, str]  # to its account: variables of a process
    network: str  # for its VPC


@dataclass(frozen=True, slots=True)
class Aws:
    process: subprocess.Popen[str]
    sites: dict[str, Site]  # by environment

    @property
    def calls(self) -> int:
        return sum(self.actions.values())

    @property
    def actions(self) -> Counter[str]:
        """How often each was called since the last reset."""
        return Counter(self._ask("calls"))

    def pace(self, pace: Pace) -> None:
        self._ask(pace)

    def reset(self) -> None:
        """Everything is deleted but the hosted zones, and counting begins from 0."""
        self._ask("reset")

    def nodes(self) -> None:
        """Instances that start from now on until the next reset are nodes of a lab."""
        self._ask("nodes")

    def made(self) -> dict[str, Any]:
        """What there is in each environment, in words that do not depend on who made it."""
        found: dict[str, Any] = self._ask("made")
        return found

    def _ask(self, what: str) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextmanager
def simulated(environments: Iterable[str]) -> Iterator[Aws]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.aws_cloud", *environments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=os.environ | _MANAGED,
    )
    try:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        yield Aws(process, {name: Site(**site) for name, site in told.items()})
    finally:
        process.kill()
        process.wait()


def serve(environments: list[str]) -> None:
    """In the other process, until standard input ends."""
    from bench.aws_made import made
    from bench.aws_nodes import nodes_behind
    from tests.loopback import free_network
    from tests.simulators.aws import Cloud, serving
    from tests.simulators.aws.proxy import Proxy

    pause = PACES["instant"]
    answer = Proxy.answer

    def late(self: Proxy, environ: dict[str, Any], body: bytes) -> Any:
        time.sleep(pause)  # before the lock that makes calls wait for each other
        return answer(self, environ, body)

    Proxy.answer = late  # type: ignore[method-assign]
    accounts = {name: f"{number}" * 12 for number, name in enumerate(environments, 1)}
    cloud = Cloud()
    with serving(cloud) as server, ExitStack() as behind:
        sites = {name: Site(server.env(account), free_network()) for name, account in accounts.items()}
        _tell({name: asdict(site) for name, site in sites.items()})
        for line in sys.stdin:
            match line.strip():
                case "instant" | "realistic" as pace:
                    pause = PACES[pace]
                    _tell(pace)
                case "reset":
                    behind.close()
                    cloud.reset()
                    for account in accounts.values():
                        cloud.add_hosted_zone(ZONE, account)
                    _tell("reset")
                case "nodes":
                    behind.enter_context(nodes_behind(cloud, server, [site.network for site in sites.values()]))
                    _tell("nodes")
                case "made":
                    _tell({name: made(site.access) for name, site in sites.items()})
                case _:
                    _tell(Counter(f"{call.service}:{call.action}" for call in list(cloud.calls)))


def _tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1:])
