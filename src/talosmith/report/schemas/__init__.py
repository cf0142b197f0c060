"""JSON Schemas of what commands print with `-o json` and `-o yaml`: a file for each kind, and each command's kinds.

The files are the contract with programs that read the output: tests run every command and check its output against
them, `talosmith schema output` prints them, docs/output.md is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from talosmith.errors import no_such

ERROR = "Error"  # any command may print one instead
_RUN = ("Event", "Result")

# By command. A command that streams prints several objects; all others print one.
KINDS: Mapping[str, tuple[str, ...]] = {
    "init": ("Init",),
    "validate": ("Validation",),
    "show": ("Cluster", "Origins"),
    "secrets init": ("SecretsCreated",),
    "secrets import": ("SecretsCreated",),
    "secrets show": ("Secrets", "RevealedSecrets"),
    "secrets export": ("Written",),
    "secrets set": ("Written",),
    "secrets rekey": ("Recipients",),
    "render configs": ("MachineConfigs", "Written"),
    "render nocloud": ("Written",),
    "render terraform": ("Written",),
    "render image": ("Images",),
    "kubeconfig": ("ClientFile",),
    "talosconfig": ("ClientFile",),
    "config migrate": ("ConfigMigration",),
    "diff": ("Diff",),
    "doctor": ("Doctor",),
    "plan": ("Plan",),
    "up": _RUN,
    "status": ("Status",),
    "node logs": ("LogLine",),
    "node dmesg": ("KernelMessage",),
    "node services": ("Services",),
    "node console": ("Console",),
    "events": ("MachineEvent",),
    "support": ("SupportBundle",),
    "health": ("Health",),
    "destroy": _RUN,
    "runs": ("Runs",),
    "run show": ("Run", "Event"),
    "graph topology": ("Graph", "Written"),
    "graph plan": ("Graph", "Written"),
    "addons list": ("Addons", "AddonCatalogue"),
    "addons show": ("Addon",),
    "addons diff": ("AddonDiff",),
    "addons pull": ("Charts",),
    "addons bundle": ("Bundle",),
    "template create": ("Templates",),
    "template list": ("Templates",),
    "template delete": ("Templates",),
    "lab start": ("Labs",),
    "lab stop": ("LabStopped",),
    "lab status": ("Labs",),
    "lab machine create": ("LabMachines",),
    "lab machine list": ("LabMachines",),
    "lab machine power-on": ("LabMachines",),
    "lab machine power-off": ("LabMachines",),
    "lab machine reboot": ("LabMachines",),
    "lab machine wipe": ("LabMachines",),
    "lab machine delete": ("LabMachinesDeleted",),
    "lab fault add": ("LabFaults",),
    "lab fault list": ("LabFaults",),
    "lab fault clear": ("LabFaultsCleared",),
    "versions": ("Versions",),
    "version": ("Version",),
    "import talconfig": ("Import",),
}
# Their output has another format: a JSON Schema, a shell script, an IAM policy.
WITHOUT_KIND = ("schema", "completion", "render aws-policy")


def all_kinds() -> list[str]:
    return sorted({ERROR, *(kind for kinds in KINDS.values() for kind in kinds)})


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind."""
    if kind not in all_kinds():
        raise no_such("kind", kind, all_kinds(), otherwise=f"kinds: {', '.join(all_kinds())}")
    found: dict[str, Any] = json.loads(files(__package__).joinpath(f"{kind}.json").read_text(encoding="utf-8"))
    return found


def schema_of_all() -> dict[str, Any]:
    """One JSON Schema for all outputs. Each kind keeps its `$id`, so that references inside of it still hold."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Output of talosmith",
        "oneOf": [{"$ref": schema_of(kind)["$id"]} for kind in all_kinds()],
        "$defs": {kind: schema_of(kind) for kind in all_kinds()},
    }
