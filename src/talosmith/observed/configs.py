"""What a node's config tells: whether it is the one it should have, and whether the node is ours at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talosmith.desired.target import Desired, config_digest
from talosmith.model.secret import Secret

if TYPE_CHECKING:
    from talosmith.desired.config.schema.documents import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSeen:
    """`foreign_reason`: why this is not the expected node; empty if it may be."""

    config: Secret
    digest: str
    controlplane: bool
    pending: bool = False  # another one is in use until it boots
    foreign_reason: str = ""


def read_config(config: Secret, name: str, desired: Desired, *, pending: bool = False) -> ConfigSeen:
    """Most nodes have exactly what they should have, so that is looked at first."""
    wanted = desired.nodes.get(name)
    if wanted is not None and config == wanted.config:
        return ConfigSeen(
            config=wanted.config, digest=wanted.digest, controlplane=wanted.is_controlplane, pending=pending
        )
    from talosmith.desired.config.compare import differing_paths
    from talosmith.desired.config.load import load

    documents, understood = _documents(config.reveal())
    digest = config_digest(documents) if understood else hashlib.sha256(config.reveal().encode()).hexdigest()
    if wanted is not None and understood and not differing_paths(documents, load(wanted.config.reveal())):
        digest = wanted.digest  # the same, with empty fields written or left out
    main = next((one for one in documents if "kind" not in one), {})
    return ConfigSeen(
        config=config,
        digest=digest,
        controlplane=_section(main, "machine").get("type") in ("controlplane", "init"),
        pending=pending,
        foreign_reason=_foreign_machine(main, documents, name, desired),
    )


def _documents(text: str) -> tuple[Sequence[Document], bool]:
    """As Talos 1.13 reads them; what only a newer Talos understands as plain values."""
    from talosmith.desired.config.load import load
    from talosmith.desired.config.nodes import compose, plain
    from talosmith.desired.config.problems import ConfigError

    try:
        return load(text), True
    except ConfigError:
        pass
    try:
        values = [plain(node) for node in compose(text, "config")]
    except (ConfigError, ValueError):
        return [], False
    return [value for value in values if isinstance(value, Mapping)], False


def _foreign_machine(main: Document, documents: Sequence[Document], name: str, desired: Desired) -> str:
    cluster = _section(main, "cluster")
    known = cluster.get("id")
    if known and known != desired.bundle.cluster_id:
        other = cluster.get("clusterName") or "without a name"
        return f"its config is of another cluster ({other}), though it has this cluster's authority"
    named = next((one for one in documents if one.get("kind") == "HostnameConfig"), {})
    hostname = named.get("hostname") or _section(_section(main, "machine"), "network").get("hostname") or ""
    if hostname != name and hostname in desired.nodes:
        return f"it is `{hostname}`, another node of this cluster"
    return ""


def _section(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
