"""What a cluster wants in AWS: pure, from the inventory alone. Read it as the drawing of the whole.

A VPC with an internet gateway and a subnet in each zone; three security groups; a role for the control planes and one
for the workers; a network load balancer with the control planes behind it, and a DNS record for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.model.machines import MachineSpec
from talosmith.model.resources import ResourceKey, ResourceSpec, Settings
from talosmith.providers.aws.kinds import listing
from talosmith.providers.aws.policies import document_of, fingerprint, managed
from talosmith.providers.aws.rules import EVERYWHERE, Rule
from talosmith.providers.aws.settings import KUBERNETES, TALOS, AwsSettings

VPC = ResourceKey("vpc", "main")
GATEWAY = ResourceKey("internet-gateway", "main")
PUBLIC_ROUTES = ResourceKey("route-table", "public")
NODES, LEADING, BALANCED = (ResourceKey("security-group", name) for name in ("nodes", "controlplane", "balancer"))
BALANCER = ResourceKey("load-balancer", "api")
ACCESS = ResourceKey("api-access", "nodes")
TO_GATEWAY, TO_BALANCER = "internet gateway", "load balancer"
# What a resource of a kind may stand on, for those that the inventory no longer has.
BELOW: dict[str, frozenset[str]] = {
    "internet-gateway": frozenset({"vpc"}),
    "subnet": frozenset({"vpc"}),
    "nat-gateway": frozenset({"subnet", "internet-gateway", "route-table"}),
    "route-table": frozenset({"vpc", "internet-gateway"}),
    "security-group": frozenset({"vpc"}),
    "role": frozenset({"policy"}),
    "load-balancer": frozenset({"subnet", "security-group", "internet-gateway"}),
    "target-group": frozenset({"vpc"}),
    "listener": frozenset({"load-balancer", "target-group"}),
    "api-access": frozenset({"security-group"}),
    "dns-record": frozenset({"load-balancer"}),
}


class Wanted:
    def __init__(self, settings: AwsSettings) -> None:
        self.settings = settings
        self.section = settings.section

    def all(self, admin: Sequence[str]) -> tuple[ResourceSpec, ...]:
        """`admin`: networks that may reach the APIs."""
        return (
            *self._network(),
            *self._groups(admin),
            *self._identities(),
            *self._balancer(),
            *self._record(),
        )

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        zone = spec.node.zone or self.section.azs[0]
        needs = [subnet(zone), *self.groups_of(spec.role)]
        if self.settings.makes_subnets:
            needs.append(self._routes_of(zone))
        if self.settings.policies(spec.role):
            needs.append(role_key(self.settings.group(spec.role)))
        if self.settings.endpoint_to_come:
            needs.append(BALANCER)  # its name is in the machine config
        return tuple(needs)

    def groups_of(self, role: str) -> tuple[ResourceKey, ...]:
        return (NODES, LEADING) if role == "controlplane" else (NODES,)

    # The network

    def _network(self) -> Iterator[ResourceSpec]:
        cidr = str(self.section.vpc_cidr)
        yield ResourceSpec(kind=VPC.kind, name=VPC.name, settings={"cidr": cidr, "dns_hostnames": True})
        if self.settings.makes_subnets or self.settings.balancer_is_public:
            yield ResourceSpec(kind=GATEWAY.kind, name=GATEWAY.name, settings={"attached": True}, needs=(VPC,))
        if not self.settings.makes_subnets:
            for zone in self.section.azs:
                given = str(self.section.subnets[zone].cidr)
                yield ResourceSpec(kind="subnet", name=zone, settings={"cidr": given}, needs=(VPC,))
            return
        # A VPC's main route table is that of all its subnets; another's VPC keeps its own as it is.
        zones = self.section.azs if self.section.vpc_id else []
        linked = [subnet(zone, public=self.section.private) for zone in zones]
        links = {"subnets": listing(one.name for one in linked)} if linked else {}
        yield ResourceSpec(
            kind=PUBLIC_ROUTES.kind,
            name=PUBLIC_ROUTES.name,
            settings={EVERYWHERE: TO_GATEWAY, **links},
            needs=(VPC, GATEWAY, *linked),
        )
        for zone in self.section.azs:
            yield from self._zone(zone)
        if self.section.private:
            for zone in self._nat_zones:
                nat = nat_key(zone)
                needs = (subnet(zone, public=True), PUBLIC_ROUTES)
                yield ResourceSpec(kind=nat.kind, name=nat.name, settings={"zone": zone}, needs=needs)

    def _zone(self, zone: str) -> Iterator[ResourceSpec]:
        if not self.section.private:
            yield self._subnet(zone, public=False, addresses=True)
            return
        yield self._subnet(zone, public=False, addresses=False)
        yield self._subnet(zone, public=True, addresses=False)
        routes, nat = self._routes_of(zone), nat_key(self._nat_of(zone))
        yield ResourceSpec(
            kind=routes.kind,
            name=routes.name,
            settings={EVERYWHERE: str(nat), "subnets": [zone]},
            needs=(VPC, nat, subnet(zone)),
        )

    def _subnet(self, zone: str, *, public: bool, addresses: bool) -> ResourceSpec:
        key = subnet(zone, public=public)
        cidr = str(self.settings.subnet_cidr(zone, public=public))
        settings: Settings = {"cidr": cidr, "zone": zone, "public_addresses": addresses}
        return ResourceSpec(kind=key.kind, name=key.name, settings=settings, needs=(VPC,))

    @property
    def _nat_zones(self) -> list[str]:
        zones = self.section.azs
        return zones if self.section.nat_gateways == "each-az" else zones[:1]

    def _nat_of(self, zone: str) -> str:
        return zone if zone in self._nat_zones else self._nat_zones[0]

    def _routes_of(self, zone: str) -> ResourceKey:
        return ResourceKey("route-table", f"private-{zone}") if self.section.private else PUBLIC_ROUTES

    # Who may reach what

    def _groups(self, admin: Sequence[str]) -> Iterator[ResourceSpec]:
        inside = str(self.section.vpc_cidr)
        allowed = list(dict.fromkeys([*admin, *([] if self.settings.balancer_is_public else [inside])]))
        talos = [Rule("tcp", TALOS, TALOS, network) for network in admin]
        balanced = [KUBERNETES, *([TALOS] if self.section.balancer.talos_api else [])]
        yield self._group(NODES, [Rule("all", source=str(NODES)), *talos])
        leading = [Rule("tcp", KUBERNETES, KUBERNETES, network) for network in admin]
        leading += [Rule("tcp", port, port, str(BALANCED)) for port in balanced]
        yield self._group(LEADING, leading, needs=(BALANCED,))
        yield self._group(BALANCED, [Rule("tcp", port, port, network) for port in balanced for network in allowed])

    def _group(self, key: ResourceKey, rules: list[Rule], needs: tuple[ResourceKey, ...] = ()) -> ResourceSpec:
        settings: Settings = {"ingress": listing(map(str, rules)), "egress": [f"all to {EVERYWHERE}"]}
        return ResourceSpec(kind=key.kind, name=key.name, settings=settings, needs=(VPC, *needs))

    def _identities(self) -> Iterator[ResourceSpec]:
        for role in ("controlplane", "worker"):
            group, policies = self.settings.group(role), self.settings.policies(role)
            if not policies:
                continue
            own = [ResourceKey("policy", f"{name}-{group}") for name in policies if document_of(name, group)]
            for name, key in zip([name for name in policies if document_of(name, group)], own, strict=True):
                document = fingerprint(document_of(name, group))
                yield ResourceSpec(kind=key.kind, name=key.name, settings={"document": document})
            shown = listing(
                f"{name}-{group}" if document_of(name, group) else managed(name, self.section.region)
                for name in policies
            )
            key = role_key(group)
            yield ResourceSpec(kind=key.kind, name=key.name, settings={"policies": shown}, needs=tuple(own))

    # The API

    def _balancer(self) -> Iterator[ResourceSpec]:
        zones = sorted(self.section.azs)
        public = self.settings.makes_subnets and self.section.private and self.settings.balancer_is_public
        subnets = tuple(subnet(zone, public=public) for zone in zones)
        scheme = "internet-facing" if self.settings.balancer_is_public else "internal"
        yield ResourceSpec(
            kind=BALANCER.kind,
            name=BALANCER.name,
            settings={"scheme": scheme, "zones": listing(zones)},
            needs=(*subnets, BALANCED, *([GATEWAY] if self.settings.balancer_is_public else [])),
        )
        yield from self._served("kubernetes", KUBERNETES)
        if self.section.balancer.talos_api:
            yield from self._served("talos", TALOS)
        if self.settings.balancer_is_public:
            yield self._access()

    def _served(self, name: str, port: int) -> Iterator[ResourceSpec]:
        members = self.settings.controlplanes
        group = ResourceKey("target-group", name)
        yield ResourceSpec(
            kind=group.kind,
            name=name,
            settings={"port": port, "client_addresses": "not preserved", "members": [*members]},
            needs=(VPC,),
            members=members,
        )
        yield ResourceSpec(
            kind="listener", name=name, settings={"port": port, "to": str(group)}, needs=(BALANCER, group)
        )

    def _access(self) -> ResourceSpec:
        """Nodes go to a public load balancer by the internet: by their own address, or by that of a NAT gateway."""
        if self.section.private and self.settings.makes_subnets:
            gateways = [nat_key(zone) for zone in self._nat_zones]
            return ResourceSpec(
                kind=ACCESS.kind,
                name=ACCESS.name,
                settings={"from": listing(map(str, gateways))},
                needs=(BALANCED, *gateways),
            )
        nodes = tuple(sorted(self.settings.specs))
        return ResourceSpec(
            kind=ACCESS.kind, name=ACCESS.name, settings={"from": [*nodes]}, needs=(BALANCED,), members=nodes
        )

    def _record(self) -> Iterator[ResourceSpec]:
        if self.settings.record:
            yield ResourceSpec(
                kind="dns-record", name=self.settings.record, settings={"alias": TO_BALANCER}, needs=(BALANCER,)
            )


def subnet(zone: str, *, public: bool = False) -> ResourceKey:
    return ResourceKey("subnet", f"public-{zone}" if public else zone)


def nat_key(zone: str) -> ResourceKey:
    return ResourceKey("nat-gateway", zone)


def role_key(group: str) -> ResourceKey:
    return ResourceKey("role", group)
