"""What a node checks before it takes a config: all that `talosctl validate` does, and what only the machine knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from talosmith.desired.config.check.findings import Finding
from talosmith.desired.config.check.validate import validate
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.config.schema.documents import Document
from talosmith.model.versions import Version
from talosmith_lab.change import too_new
from talosmith_lab.disks import find_install_disk
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import SYSTEM_VOLUMES, NodeConfig, documents_of, read
from talosmith_lab.versions import kubernetes_refusal


class Invalid(Exception):
    """Talos refuses the config."""


def check(machine: Machine, version: str, text: str) -> tuple[NodeConfig, list[str]]:
    """The config and warnings about it; raises `Invalid`."""
    documents = loaded(text, version)
    new = read(text)
    wants_install = machine.platform == "metal" and machine.system is None
    findings = validate(documents, "metal" if wants_install else "cloud", talos=Version.parse(version).line)
    errors = [_said(finding) for finding in findings if finding.severity == "error"]
    if wants_install and _no_disk(machine, new, documents):
        errors.append(f"no disks matched the expression: {new.install.match if new.install else ''}")
    errors += _volumes_moved(machine, new)
    for name, image in new.images.items():
        why = kubernetes_refusal(image, version)
        if why:
            errors.append(f"{name} image is not valid: {why}")
    if errors:
        raise Invalid(_listed(errors))
    return new, [str(finding) for finding in findings if finding.severity == "warning"]


def _said(finding: Finding) -> str:
    """A node does not know how talosmith would mend it."""
    return str(finding).partition(" (fix: ")[0]


def _no_disk(machine: Machine, new: NodeConfig, documents: Sequence[Document]) -> bool:
    """Talos looks for the disk of a selector in v1alpha1; for a path, and for a document, only when it installs."""
    main: Document = next((one for one in documents if "kind" not in one), {})
    selector = ((main.get("machine") or {}).get("install") or {}).get("diskSelector")
    return bool(selector and new.install and find_install_disk(machine.disks, new.install.match) is None)


def _volumes_moved(machine: Machine, new: NodeConfig) -> Iterator[str]:
    """Whether a system volume has a partition of its own is decided when it is created."""
    if machine.system is None or not machine.system.config or machine.system.volumes is None:
        return
    for name in SYSTEM_VOLUMES:
        if name in new.volumes and name not in machine.system.volumes:
            yield (
                f'the backing of the "{name}" system volume cannot be changed after creation (current: directory, '
                "requested: partition); migrating an existing system volume to or from a dedicated partition is not "
                "supported"
            )
        elif name in machine.system.volumes and name not in new.volumes:
            yield (
                f'the "{name}" system volume is backed by a dedicated partition and its VolumeConfig cannot be '
                "removed; migrating a system volume off a dedicated partition is not supported"
            )


def loaded(text: str, version: str) -> tuple[Document, ...]:
    """The documents, as far as this version of Talos can read them; raises `Invalid`."""
    try:
        documents = documents_of(text)
    except ConfigError as error:
        raise Invalid(_listed(problem.what for problem in error.problems)) from None
    unknown = too_new(text, version)
    if unknown:
        raise Invalid(unknown[0])
    return documents


def _listed(problems: Iterable[str]) -> str:
    lines = list(problems)
    count = f"{len(lines)} error{'s' if len(lines) > 1 else ''} occurred:"
    return "\n".join([count, *(f"\t* {line}" for line in lines)])
