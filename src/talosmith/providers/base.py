"""What every provider of machines can do, and the abilities that some have besides.

`tests/provider_contract.py` and `tests/resource_contract.py` hold the tests that each must pass. All of them keep
three rules: machines are found by their tags alone, what does not carry this cluster's tags is never touched, and
asking twice comes to the same as once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, runtime_checkable

from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec
from talosmith.model.secret import Secret

Verb = Literal["create", "resize", "forget-seed", "destroy"]
HostCalls = Mapping[Verb, tuple[str, ...]]
NO_HOST_CALLS: HostCalls = MappingProxyType({})


Level = Literal["ok", "note", "warning", "error"]
Area = Literal["this computer", "provider", "nodes", "cluster"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a preflight check or of `doctor`. An `error` keeps `up` from starting; a `note` is neither good
    nor bad, such as a tool that talosmith does not need."""

    level: Level
    area: Area = "provider"
    check: str  # what was checked, in two or three words
    cause: str = ""
    evidence: str = ""
    fix: str = ""  # lines after the first are commands
    transient: bool = False  # may pass without a change of the inventory or the host: a machine that boots


@runtime_checkable
class Provider(Protocol):
    """Made for one cluster. Raises `Temporary` and `Permanent` only."""

    name: str
    seeds: bool  # machines are made with their config; else they wait for it in maintenance mode
    creates: bool  # False: the machines exist already, and stay when the cluster is destroyed
    simulated: bool  # machines of a lab: milliseconds for what takes real machines seconds

    @property
    def host_calls(self) -> HostCalls:
        """Changes of the host beyond the machine's own that these may make, such as `libvirt:pool-start`."""

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        """Whether these machines could be made. Changes nothing."""

    async def find(self) -> list[Machine]:
        """All machines of this cluster, by their tags, whether the inventory still has them or not."""

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        """Create a machine and power it on. A machine that already exists is returned unchanged, never a twin."""

    async def destroy(self, machine: Machine) -> None:
        """Delete a machine and its disks. Silent when the machine does not exist."""

    async def power(self, machine: Machine, on: bool) -> None:
        """Power the machine on or off. Silent when the state is unchanged."""

    async def close(self) -> None:
        """Lets go of connections."""


@runtime_checkable
class CanResize(Protocol):
    """The size of a machine can be changed in place; it is switched off and on for it."""

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine: ...


@runtime_checkable
class HasConsole(Protocol):
    """What the machine wrote on its console."""

    async def console(self, machine: Machine, lines: int = 50) -> str: ...


@runtime_checkable
class HasSeeds(Protocol):
    """Machines find their config on a disk of their own, which holds secrets and is not needed for long."""

    async def forget_seed(self, machine: Machine) -> bool:
        """Detach the seed from the machine and delete it; whether a seed existed."""


@runtime_checkable
class FindsRenamed(Protocol):
    """Machines carry tags, so those of a cluster whose name was changed can be found by its id."""

    async def find_renamed(self) -> Mapping[str, tuple[str, ...]]:
        """By cluster name: machines with this cluster's id and another cluster name. Nothing is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Talos without config and identity, which machines are cloned from."""

    id: str  # unique together with `host`: a VMID
    name: str
    host: str
    storage: str
    image: str  # what it was made of
    finished: bool = True
    kept: bool = False  # created by the user: no cluster deletes it
    used_by: tuple[str, ...] = ()  # clusters, and machines that are linked clones of it


@runtime_checkable
class HasTemplates(Protocol):
    """Machines can be cloned from templates, which outlive clusters."""

    async def templates(self) -> list[Template]:
        """Those that talosmith made, for whichever cluster."""

    async def create_template(self, name: str = "") -> list[Template]:
        """Of each image of the inventory, on each host that needs it; those that exist are returned unchanged."""

    async def delete_template(self, template: Template) -> None:
        """`Permanent` while linked clones need it; silent when it does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider can do, as the data that plans are made from."""

    creates: bool = True  # False: machines exist already, are reset instead of deleted, and stay
    resizes: bool = False
    forgets_seeds: bool = False
    host_calls: HostCalls = field(default_factory=lambda: NO_HOST_CALLS)

    def calls(self, verb: Verb) -> tuple[str, ...]:
        """Changes of the host beyond the machine's own that go with it."""
        return self.host_calls.get(verb, ())


def capabilities(provider: Provider) -> Capabilities:
    return Capabilities(
        creates=provider.creates,
        resizes=isinstance(provider, CanResize),
        forgets_seeds=isinstance(provider, HasSeeds),
        host_calls=provider.host_calls,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What exists by now, for resources that refer to it: a subnet to its network, a target group to its members."""

    resources: Mapping[ResourceKey, Resource]
    machines: Mapping[str, Machine]


@runtime_checkable
class NamesEndpoint(Protocol):
    """The provider chooses the DNS name of the Kubernetes API, with the load balancer that it creates."""

    def endpoint(self, there: Iterable[Resource]) -> str:
        """The name, if the load balancer is among these resources; else empty. Pure."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What else keeps the cluster's network from being deleted."""

    own: tuple[Resource, ...] = ()  # of Kubernetes, such as load balancers of Services: deleted with the cluster
    foreign: tuple[str, ...] = ()  # in words; nothing is deleted while there is any


@runtime_checkable
class HasLeftovers(Protocol):
    """In the network of a cluster there may be things that talosmith has not created."""

    async def leftovers(self, there: Sequence[Resource]) -> Leftovers:
        """`there`: the cluster's resources. Changes nothing."""


@runtime_checkable
class Billed(Protocol):
    """The provider's machines and resources cost money."""

    def billed(self, machines: Sequence[MachineSpec], resources: Sequence[ResourceSpec]) -> tuple[str, ...]:
        """What is billed of these, as counts and types: `3 x t3.medium`. Pure."""


@runtime_checkable
class HasResources(Protocol):
    """The provider creates what machines stand on. `create` of a machine finds it by tags, and creates none of it.

    The first three are pure. The others keep the rules of machines: found by tags alone, what does not carry this
    cluster's tags is never touched, and asking twice comes to the same as once.
    """

    def resources(self) -> tuple[ResourceSpec, ...]:
        """All that the inventory wants, in any order."""

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        """Resources that exist before this machine is created, and are deleted after it."""

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference: ...

    async def find_resources(self) -> list[Resource]:
        """All of this cluster's, whether the inventory still has them or not; and what exists under a wanted name
        without this cluster's tags, where that is used as it is."""

    async def create_resource(self, spec: ResourceSpec, known: Known) -> Resource:
        """The one that exists already is returned as it is; a half-finished one is finished."""

    async def update_resource(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        """Changes what `difference` calls an update. `Permanent` if that calls it a replace."""

    async def delete_resource(self, found: Resource) -> None:
        """Silent when it is gone, and when it is shared and others use it; else `Temporary` while it is in use."""
