"""What a new config changes on a running node: whether it needs a reboot, and the difference as text."""

from __future__ import annotations

from talosmith.desired.config import compare, reboot
from talosmith.desired.config.known import unknown_to
from talosmith.model.versions import Version
from talosmith_lab.nodeconfig import documents_of


def too_new(text: str, version: str) -> list[str]:
    """What in a config this version of Talos does not know yet, in its words."""
    unknown = unknown_to(documents_of(text), Version.parse(version).line)
    kinds = [f'"{one.kind}" "v1alpha1": not registered' for one in unknown if not one.path]
    fields = [one.place for one in unknown if one.path]
    return [*kinds, *(["unknown keys found during decoding:\n" + "\n".join(fields)] if fields else [])]


def refused_without_reboot(old: str, new: str, version: str) -> tuple[str, ...]:
    """The fields whose change this version of Talos refuses without a reboot."""
    return reboot.refused_without_reboot(documents_of(old), documents_of(new), Version.parse(version))


def difference(old: str, new: str) -> str:
    """As a unified diff in which no secret is seen."""
    return "\n".join(compare.difference(documents_of(old) if old else (), documents_of(new), ("a", "b")))
