"""Rules of security groups, as text that is compared and shown: `tcp 6443 from 203.0.113.0/24`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

EVERYWHERE = "0.0.0.0/0"
NODE_RULE = "talosmith access of "  # the description of a rule that belongs to a node, or to a NAT gateway
KUBERNETES_RULE = "kubernetes.io/rule/"  # the description of a rule that the cloud controller has made


@dataclass(frozen=True, slots=True)
class Rule:
    protocol: str
    first: int = 0
    last: int = 0
    source: str = EVERYWHERE  # a network, a security group of the cluster as `security-group nodes`, or another's id

    def __str__(self) -> str:
        return f"{self.ports} from {self.source}"

    @property
    def ports(self) -> str:
        if self.protocol == "all":
            return "all"
        ports = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol} {ports}"

    @classmethod
    def parse(cls, text: str) -> Rule:
        """The opposite of `str`; of an egress rule, too."""
        ports, _, source = text.partition(" to " if " to " in text else " from ")
        protocol, _, numbers = ports.partition(" ")
        first, _, last = numbers.partition("-")
        return cls(protocol, int(first or 0), int(last or first or 0), source)

    def permission(self, group_id: Callable[[str], str], description: str) -> dict[str, Any]:
        """As EC2 wants it. `group_id`: the id of a security group that is the source."""
        ports = {} if self.protocol == "all" else {"FromPort": self.first, "ToPort": self.last}
        base = {"IpProtocol": "-1" if self.protocol == "all" else self.protocol, **ports}
        if self.source.startswith("pl-"):
            return {**base, "PrefixListIds": [{"PrefixListId": self.source, "Description": description}]}
        if "/" not in self.source:
            found = {"GroupId": group_id(self.source), "Description": description}
            return {**base, "UserIdGroupPairs": [found]}
        if ":" in self.source:
            return {**base, "Ipv6Ranges": [{"CidrIpv6": self.source, "Description": description}]}
        return {**base, "IpRanges": [{"CidrIp": self.source, "Description": description}]}


def read(permissions: list[Mapping[str, Any]], name: Callable[[str], str]) -> Iterator[tuple[Rule, str]]:
    """All rules with their descriptions. `name`: of a source by its id."""
    for one in permissions:
        protocol = str(one["IpProtocol"]).replace("-1", "all")
        first, last = int(one.get("FromPort") or 0), int(one.get("ToPort") or 0)
        if protocol == "all":
            first = last = 0
        sources = [
            *((pair["GroupId"], pair) for pair in one.get("UserIdGroupPairs", ())),
            *((network["CidrIp"], network) for network in one.get("IpRanges", ())),
            *((network["CidrIpv6"], network) for network in one.get("Ipv6Ranges", ())),
            *((prefix["PrefixListId"], prefix) for prefix in one.get("PrefixListIds", ())),
        ]
        for source, detail in sources:
            yield Rule(protocol, first, last, name(source)), str(detail.get("Description", ""))


def as_egress(rule: Rule) -> str:
    return f"{rule.ports} to {rule.source}"
