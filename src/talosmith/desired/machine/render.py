"""Machine configs of all nodes of a cluster: fresh configs, what the inventory says, the user's patches, validation.

What nodes of a role share is done once. The user's patches come after what the inventory says of a node, so that they
have the last word; those that touch nothing of it come to the same before it, and are applied once for all nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.check.findings import Finding, Mode
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.load import load_values
from talosmith.desired.config.nodes import from_value
from talosmith.desired.config.patch.apply import (
    Fill,
    Overlay,
    StrategicPatch,
    load_patch,
    patch_from_value,
)
from talosmith.desired.config.patch.apply import Patch as ConfigPatch
from talosmith.desired.config.patch.known import check_known
from talosmith.desired.config.prepared import Prepared, Rendered
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.config.schema.contracts import Contract, contract_for
from talosmith.desired.machine.addons import addon_documents
from talosmith.desired.machine.node import image_of, node_documents, shared_documents
from talosmith.desired.machine.places import problem_of
from talosmith.desired.machine.variables import UnknownVariable, filler, speaks_of_nodes
from talosmith.errors import Problem
from talosmith.model.cluster import Cluster, Node, Patch, Role

MODES: dict[str, Mode] = {"metal": "metal", "container": "container"}  # all others are clouds
_NOWHERE = from_value({})

Touched = frozenset[tuple[str, str]]


class MachineConfigs:
    """The configs of a cluster's nodes, made as they are asked for."""

    def __init__(self, cluster: Cluster, bundle: Bundle, *, strict: bool = False) -> None:
        self.cluster = cluster
        self.bundle = bundle
        self.strict = strict
        self.contract: Contract = contract_for(str(cluster.talos_version))
        self.mode: Mode = MODES.get(cluster.provider.platform, "cloud")
        self._roles: dict[Role, _RoleConfigs] = {}

    def render(self, node: Node) -> Rendered:
        """A node's config; raises `ConfigError` if Talos would refuse it."""
        if node.role not in self._roles:
            self._roles[node.role] = _RoleConfigs(self, node.role)
        rendered = self._roles[node.role].render(node)
        if rendered.errors:
            raise ConfigError(self.problems(node, rendered.errors))
        return rendered

    def problems(self, node: Node, findings: Sequence[Finding]) -> list[Problem]:
        """Findings about a node's config, with the patches that they come from."""
        patches = self._roles[node.role].patches(node)
        return [problem_of(finding, node.name, patches) for finding in findings]

    def __iter__(self) -> Iterator[tuple[Node, Rendered]]:
        for node in self.cluster.nodes:
            yield node, self.render(node)


class _RoleConfigs:
    def __init__(self, configs: MachineConfigs, role: Role) -> None:
        self._cluster = configs.cluster
        nodes = [node for node in configs.cluster.nodes if node.role == role]
        first = nodes[0]
        patches = (*configs.cluster.patches, *configs.cluster.role_patches.get(role, ()))
        fill = filler(configs.cluster, None)
        self._own = {node.name: _own_patch(configs.cluster, node, configs.contract) for node in nodes}
        ours = frozenset[tuple[str, str]]().union(*(_touched(patch) for patch in self._own.values()))
        shared: list[ConfigPatch] = []
        for patch in patches:
            if _speaks_of_nodes(patch):
                break
            made = read_patch(patch, fill, configs.cluster.talos_version.line)
            if not isinstance(made, StrategicPatch) or _touched(made) & ours:
                break
            shared.append(made)
        self._shared, self._later = shared, patches[len(shared) :]
        documents = generate(role, _options(configs.cluster, configs.contract, first), configs.bundle)
        own = _overlay(shared_documents(configs.cluster, role, configs.contract), "inventory")
        asked = [_overlay(needed, source) for source, needed in addon_documents(configs.cluster, role)]
        self._prepared = Prepared(
            documents,
            [own, *asked, *shared],
            mode=configs.mode,
            strict=configs.strict,
            talos=configs.cluster.talos_version.line,
        )

    def render(self, node: Node) -> Rendered:
        return self._prepared.render([self._own[node.name], *self._theirs(node)])

    def patches(self, node: Node) -> list[ConfigPatch]:
        """The user's patches of a node, in their order."""
        return [*self._shared, *self._theirs(node)]

    def _theirs(self, node: Node) -> list[ConfigPatch]:
        fill, talos = filler(self._cluster, node), self._cluster.talos_version.line
        return [read_patch(patch, fill, talos) for patch in (*self._later, *node.patches)]


def _options(cluster: Cluster, contract: Contract, node: Node) -> Options:
    network, kubernetes = cluster.network, cluster.kubernetes
    names = [*([str(network.vip)] if network.vip else []), *network.cert_sans]
    if not contract.endpoint_in_sans:  # else Talos' own form has it already
        names.insert(0, cluster.endpoint.host)
    names = [name for name in names if not (contract.endpoint_in_sans and name == cluster.endpoint.host)]
    cni = kubernetes.cni
    return Options(
        cluster_name=cluster.name,
        endpoint=cluster.endpoint.url,
        kubernetes_version=str(cluster.kubernetes_version),
        install_image=image_of(node, cluster.talos_version, cluster.provider.platform).installer,
        contract=contract,
        install_disk="",
        additional_sans=tuple(dict.fromkeys(names)),
        dns_domain=kubernetes.dns_domain,
        pod_subnets=(str(network.pod_cidr),),
        service_subnets=(str(network.svc_cidr),),
        registry_mirrors={host: tuple(urls) for host, urls in cluster.talos.registry_mirrors.items()},
        kubespan=cluster.talos.kubespan,
        discovery=cluster.talos.discovery,
        cni=None if cni is None or cni.name == "flannel" else cni.model_dump(exclude_defaults=True),
        kube_proxy=kubernetes.kube_proxy is not False,
        kube_prism=cluster.talos.kube_prism,
        allow_scheduling_on_control_planes=bool(kubernetes.schedule_on_controlplanes),
    )


def _own_patch(cluster: Cluster, node: Node, contract: Contract) -> StrategicPatch:
    return _overlay(node_documents(cluster, node, contract), f"inventory: {node.name}")


def _overlay(values: Sequence[dict[str, object]], source: str) -> StrategicPatch:
    documents = load_values(values, source)
    return StrategicPatch(source, tuple(Overlay(document, _NOWHERE) for document in documents))


def read_patch(patch: Patch, fill: Fill, talos: tuple[int, int]) -> ConfigPatch:
    """A patch of the inventory with its placeholders filled; errors name its file and line.

    What nodes of this Talos do not know is an error, too.
    """
    try:
        if patch.text is not None:
            made = load_patch(patch.text, patch.source, fill)
        else:
            made = patch_from_value(patch.value, patch.source, fill)
    except UnknownVariable as unknown:
        raise ConfigError(
            [Problem("error", str(unknown), file=patch.source, line=_line_of(unknown, patch))]
        ) from None
    check_known(made, talos)
    return made


def _line_of(unknown: UnknownVariable, patch: Patch) -> int:
    placeholder = str(unknown).split("`")[1]
    lines = (patch.text or "").splitlines()
    return next((number for number, line in enumerate(lines, 1) if placeholder in line), 0)


def _speaks_of_nodes(patch: Patch) -> bool:
    return speaks_of_nodes(patch.text if patch.text is not None else repr(patch.value))


def _touched(patch: StrategicPatch) -> Touched:
    """Which parts of a config a patch says something about: sections of the main document, kinds of others."""
    touched: set[tuple[str, str]] = set()
    for step in patch.steps:
        if not isinstance(step, Overlay):
            kind, path = step.identity[0], step.path
            touched.add((kind, "") if kind else (str(path[0]), str(path[1]) if len(path) > 1 else ""))
        elif "kind" in step.document:
            touched.add((step.document["kind"], ""))
        else:
            for section, content in step.document.items():
                touched |= {(section, key) for key in content} if isinstance(content, dict) else {(section, "")}
    return frozenset(touched)
