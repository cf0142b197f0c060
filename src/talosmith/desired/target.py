"""What should be, whole: the cluster of the inventory with the machine and the config of every node."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets
from talosmith.model.cluster import Cluster, Node
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.secret import Secret

if TYPE_CHECKING:
    from talosmith.desired.addons import AddonProblem, AddonSources, DesiredAddon
    from talosmith.desired.config.meaning import Meaning


@dataclass(frozen=True, slots=True)
class DesiredNode:
    node: Node
    machine: MachineSpec
    config: Secret
    digest: str  # of what the config says, however it is written

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_controlplane(self) -> bool:
        return self.node.role == "controlplane"


_NO_CNI = re.compile(r"""name: ["']?none\b""")
_FLANNEL, _AS_DOCUMENTS = "kind: KubeFlannelCNIConfig", "kind: KubeNetworkConfig"


@dataclass(frozen=True, slots=True)
class StepConfig:
    """A machine config that a step carries itself, as upgrades and rotations need it between the old and the new.

    `phase` names this config among those of one node in a plan. Only phase and digest are shown and compared.
    """

    phase: str
    config: Secret
    digest: str

    @classmethod
    def of(cls, phase: str, documents: Sequence[Mapping[str, Any]]) -> StepConfig:
        from talosmith.desired.config.emit import emit

        return cls(phase, Secret(emit(documents)), config_digest(documents))

    def __str__(self) -> str:
        return f" ({self.phase}, {self.digest[:16]})"


class Desired:
    """Nodes are rendered when they are first asked for."""

    def __init__(self, cluster: Cluster, bundle: Bundle) -> None:
        self.cluster = cluster
        self.bundle = bundle
        self.owner = owner_of(cluster, bundle)
        self._sources: tuple[AddonSources, Secrets] | None = None

    def use_endpoint(self, host: str) -> None:
        """The name that the provider has chosen for the Kubernetes API: machine configs are rendered with it."""
        self.cluster = replace(self.cluster, endpoint=replace(self.cluster.endpoint, host=host))
        for rendered in ("nodes", "without_cni", "meaning", "_addons"):
            self.__dict__.pop(rendered, None)

    def use_addons(self, sources: AddonSources, secrets: Secrets) -> None:
        """What was read for the add-ons of the cluster, and the secrets that they name."""
        self._sources = (sources, secrets)
        self.__dict__.pop("_addons", None)

    @property
    def addons(self) -> Mapping[str, DesiredAddon]:
        """Add-ons that install something, in the inventory's order; empty before `use_addons`."""
        return self._addons[0]

    @property
    def addon_problems(self) -> tuple[AddonProblem, ...]:
        """Why add-ons cannot be installed."""
        return self._addons[1]

    @cached_property
    def _addons(self) -> tuple[Mapping[str, DesiredAddon], tuple[AddonProblem, ...]]:
        if self._sources is None:
            return {}, ()
        from talosmith.desired.addons import desired_addons  # with the renderer of charts, for who installs add-ons

        return desired_addons(self.cluster, *self._sources)

    @cached_property
    def nodes(self) -> dict[str, DesiredNode]:
        """Control planes first, in the inventory's order."""
        from talosmith.desired.machine import MachineConfigs  # a fifth of all modules, for who renders configs

        return {
            node.name: DesiredNode(
                node, machine_spec(self.cluster, node), Secret(rendered.text), config_digest(rendered.documents)
            )
            for node, rendered in MachineConfigs(self.cluster, self.bundle)
        }

    @cached_property
    def without_cni(self) -> bool:
        """Talos installs no CNI, by the inventory or a patch, and no add-on is one: the user installs one."""
        if any(one.stage == "cni" and one.name != "flannel" for one in self.cluster.addons.values()):
            return False
        text = next(self.controlplanes).config.reveal()
        flannel = _FLANNEL in text if _AS_DOCUMENTS in text else not _NO_CNI.search(text)
        if flannel:  # parsing takes longer than all other questions to the config
            return False
        return self.meaning.cni == "none"

    @cached_property
    def meaning(self) -> Meaning:
        """What the machine config of the first control plane says, in whichever form."""
        from talosmith.desired.config.load import load
        from talosmith.desired.config.meaning import meaning

        return meaning(load(next(self.controlplanes).config.reveal()))

    @property
    def controlplanes(self) -> Iterator[DesiredNode]:
        return (node for node in self.nodes.values() if node.is_controlplane)

    @property
    def workers(self) -> Iterator[DesiredNode]:
        return (node for node in self.nodes.values() if not node.is_controlplane)


def owner_of(cluster: Cluster, bundle: Bundle) -> Owner:
    """The cluster's id is itself worth keeping quiet; its hash is as good to tell clusters apart."""
    secret_id = bundle.cluster_id
    return Owner(cluster.name, hashlib.sha256(secret_id.encode()).hexdigest()[:16])


def machine_spec(cluster: Cluster, node: Node) -> MachineSpec:
    return MachineSpec(node=node, network=cluster.network, talos_version=cluster.talos_version)


def config_digest(documents: Iterable[Mapping[str, Any]]) -> str:
    """The same for configs that say the same: neither order nor notation counts."""
    from talosmith.desired.config.emit import canonical

    ordered = sorted(map(canonical, documents), key=lambda one: (str(one.get("kind", "")), str(one.get("name", ""))))
    return hashlib.sha256(json.dumps(ordered, sort_keys=True, default=str).encode()).hexdigest()
