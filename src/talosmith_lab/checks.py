"""What a node checks before it takes a config: all that `talosctl validate` does, and what only the machine knows."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith.desired.config.check.validate import validate
from talosmith.desired.config.problems import ConfigError
from talosmith_lab.change import too_new
from talosmith_lab.disks import find_install_disk
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig, documents_of, read
from talosmith_lab.versions import kubernetes_refusal


class Invalid(Exception):
    """Talos refuses the config."""


def check(machine: Machine, version: str, text: str) -> tuple[NodeConfig, list[str]]:
    """The config and warnings about it; raises `Invalid`."""
    try:
        documents = documents_of(text)
    except ConfigError as error:
        raise Invalid(_listed(problem.what for problem in error.problems)) from None
    unknown = too_new(text, version)
    if unknown:
        raise Invalid(unknown[0])
    new = read(text)
    wants_install = machine.platform == "metal" and machine.system is None
    findings = validate(documents, "metal" if wants_install else "cloud")
    errors = [str(finding) for finding in findings if finding.severity == "error"]
    if wants_install and new.install.get("diskSelector") and find_install_disk(machine.disks, new.install) is None:
        errors.append("no disks matched the install disk selector")
    for name, image in new.images.items():
        why = kubernetes_refusal(image, version)
        if why:
            errors.append(f"{name} image is not valid: {why}")
    if errors:
        raise Invalid(_listed(errors))
    return new, [str(finding) for finding in findings if finding.severity == "warning"]


def _listed(problems: Iterable[str]) -> str:
    lines = list(problems)
    count = f"{len(lines)} error{'s' if len(lines) > 1 else ''} occurred:"
    return "\n".join([count, *(f"\t* {line}" for line in lines)])
