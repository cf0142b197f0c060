"""Whether the machine configs of a cluster can be made: patches that fit, values that Talos takes.

For that no real secrets are needed, so `talosmith validate` can tell before there are any.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.patch.known import twice
from talosmith.desired.machine.kernel_args import kernel_arg_problems
from talosmith.desired.machine.render import MachineConfigs, read_patch
from talosmith.desired.machine.variables import filler
from talosmith.desired.pki import KeyKind, new_authority
from talosmith.errors import InventoryError, Problem
from talosmith.model.cluster import Cluster, Node
from talosmith.model.secret import Secret

ALL_UP_TO = 300  # of more nodes, those are rendered that differ by more than name and address


def check_configs(cluster: Cluster) -> list[Problem]:
    """Everything that keeps configs from being made, and what Talos would warn of."""
    problems = list(dict.fromkeys(_wrong_patches(cluster)))
    if any(problem.severity == "error" for problem in problems):
        return problems
    configs = MachineConfigs(cluster, stand_in_bundle())
    for node in chosen_nodes(cluster):
        try:
            found = configs.render(node).findings
        except InventoryError as wrong:
            problems += wrong.problems
        else:
            problems += configs.problems(node, found)
    return list(dict.fromkeys(problems))


def _wrong_patches(cluster: Cluster) -> Iterator[Problem]:
    """Each patch on its own first, so that one mistake does not hide the next."""
    for node in chosen_nodes(cluster):
        fill = filler(cluster, node)
        for patch in cluster.patches_for(node):
            try:
                made = read_patch(patch, fill, cluster.talos_version.line)
            except InventoryError as wrong:
                yield from wrong.problems
            else:
                yield from kernel_arg_problems(made, cluster.talos_version.line)
                yield from twice(made)


def chosen_nodes(cluster: Cluster) -> Iterator[Node]:
    """All nodes, or of very many those that differ by more than name and address."""
    seen: set[str] = set()
    for node in cluster.nodes:
        if len(cluster.nodes) <= ALL_UP_TO or node.patches or node.role not in seen:
            seen.add(node.role)
            yield node


def stand_in_bundle() -> Bundle:
    """A bundle of the right form that no cluster will ever have; without the RSA key that makes real ones slow."""
    authority = new_authority("stand-in", KeyKind.ED25519)
    text = Secret("stand-in")
    key = base64.b64encode(b"stand-in".ljust(32)).decode()  # as long as Talos wants it
    return Bundle(
        cluster_id=key,
        cluster_secret=Secret(key),
        bootstrap_token=text,
        trustd_token=text,
        etcd=authority,
        k8s=authority,
        k8s_aggregator=authority,
        k8s_service_account=authority.key,
        os=authority,
        secretbox_encryption_secret=Secret(key),
    )
