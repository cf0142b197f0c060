"""The nodes' network: a switch in a network namespace of its own, and one cable from it to the machine.

The switch is not on the machine itself, so that the machine's filter rules do not see what nodes say to each other.
Whatever arrives from the cable and is not meant for the machine is dropped by a routing rule, because Docker and
libvirt turn forwarding on: nothing of the nodes leaves the machine.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

FIRST_NODE, LAST_NODE = 11, 250
_PREFERENCE = "5"  # after the table of local addresses (0), before everything that finds a route (32766)
_SUBNETS = "10.5.{}"


@dataclass(frozen=True)
class Network:
    index: int
    prefix: int = 24

    @property
    def name(self) -> str:
        return f"talosmith{self.index}"

    @property
    def subnet(self) -> str:
        return f"{_SUBNETS.format(self.index)}.0/{self.prefix}"

    @property
    def gateway(self) -> str:
        """The machine's own address among the nodes."""
        return self.address(1)

    def address(self, host: int) -> str:
        return f"{_SUBNETS.format(self.index)}.{host}"

    def mac(self, host: int) -> str:
        return f"02:54:53:4d:{self.index:02x}:{host:02x}"

    def is_foreign(self) -> bool:
        """Whether the machine has these addresses for something else."""
        listed = ["ip", "-4", "route", "show", "table", "all"]
        routes = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
        others = [route for route in routes if f"dev {self.name} " not in f"{route} "]
        return any(_SUBNETS.format(self.index) + "." in route for route in others)

    def make(self) -> None:
        self.remove()
        _ip("netns", "add", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")
        _ip("-n", self.name, "link", "add", "switch", "type", "bridge")
        _ip("-n", self.name, "link", "set", "switch", "up")
        for family in _families():
            _ip(family, "rule", "add", "blackhole", "iif", self.name, "preference", _PREFERENCE)
        _ip("link", "add", self.name, "type", "veth", "peer", "name", "uplink", "netns", self.name)
        _ip("-n", self.name, "link", "set", "uplink", "master", "switch", "up")
        _ip("address", "add", f"{self.gateway}/{self.prefix}", "dev", self.name)
        _ip("link", "set", self.name, "up")

    def remove(self) -> None:
        """Also what a killed run has left behind; silent when there is nothing."""
        _ip("link", "delete", self.name, check=False)
        _ip("netns", "delete", self.name, check=False)
        for family in _families():
            while _ip(family, "rule", "delete", "blackhole", "iif", self.name, check=False):
                pass


def _families() -> tuple[str, ...]:
    return ("-4", "-6") if Path("/proc/sys/net/ipv6").exists() else ("-4",)


def _ip(*arguments: str, check: bool = True) -> bool:
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if check and result.returncode:
        raise RuntimeError(f"`ip {' '.join(arguments)}`: {result.stderr.strip()}")
    return result.returncode == 0
