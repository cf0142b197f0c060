"""What a node's config tells: whether it is the one it should have, and whether the node is ours at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talosmith.desired.target import Desired, config_digest
from talosmith.model.secret import Secret

if TYPE_CHECKING:
    from talosmith.desired.config.meaning import Meaning
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
    from talosmith.desired.config.load import load
    from talosmith.desired.config.meaning import meaning

    documents, understood = _documents(config.reveal())
    digest = config_digest(documents) if understood else hashlib.sha256(config.reveal().encode()).hexdigest()
    if wanted is not None and understood and _says_the_same(documents, load(wanted.config.reveal())):
        digest = wanted.digest
    read = meaning(documents)
    try:
        controlplane, foreign_reason = read.is_controlplane, _foreign_machine(read, name, desired)
    except (AttributeError, TypeError):  # plain values that no Talos would have as a config
        if understood:
            raise
        controlplane, foreign_reason = False, ""
    return ConfigSeen(
        config=config, digest=digest, controlplane=controlplane, pending=pending, foreign_reason=foreign_reason
    )


def _says_the_same(live: Sequence[Document], rendered: Sequence[Document]) -> bool:
    """With empty fields written or left out, or in another form: fields of v1alpha1, or documents."""
    from talosmith.desired.config.compare import differing_paths
    from talosmith.desired.config.meaning import meaning

    return not differing_paths(live, rendered) or meaning(live) == meaning(rendered)


def _documents(text: str) -> tuple[Sequence[Document], bool]:
    """As Talos reads them; what only a Talos newer than all known ones understands as plain values."""
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


def _foreign_machine(config: Meaning, name: str, desired: Desired) -> str:
    if config.cluster_id and config.cluster_id != desired.bundle.cluster_id:
        other = config.cluster_name or "without a name"
        return f"its config is of another cluster ({other}), though it has this cluster's authority"
    if config.hostname != name and config.hostname in desired.nodes:
        return f"it is `{config.hostname}`, another node of this cluster"
    return ""
