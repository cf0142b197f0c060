"""Documents that say what the main document says too; Talos refuses both at once."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.check.findings import Findings, error
from talosmith.desired.config.emit import is_empty
from talosmith.desired.config.schema.documents import KINDS, Document
from talosmith.govalues import address

_VOLUMES = {"STATE": "state", "EPHEMERAL": "ephemeral"}


def conflicts(document: Document, main: Document) -> Findings:
    """What a document repeats of the main one."""
    machine = main.get("machine")
    if machine is None or "kind" not in document:
        return
    network = machine.get("network") or {}
    for path in _repeated(document, machine, network):
        yield error(f"machine.{path}", f"says what {document['kind']} says; only one of them can")


def _repeated(document: Document, machine: Any, network: Any) -> list[str]:
    kind = document["kind"]
    if kind == "HostnameConfig":
        stable = (machine.get("features") or {}).get("stableHostname")
        return ["network.hostname"] * bool(network.get("hostname")) + ["features.stableHostname"] * bool(stable)
    if kind == "ResolverConfig":
        return [
            *(["network.searchDomains"] if network.get("searchDomains") is not None else []),
            *(["network.nameservers"] if any(map(_is_address, network.get("nameservers") or ())) else []),
            *(["network.disableSearchDomain"] if network.get("disableSearchDomain") else []),
        ]
    if kind == "TimeSyncConfig":
        time = machine.get("time") or {}
        timeout = time.get("bootTimeout") not in (None, "0s")
        fields = (("disabled", time.get("disabled")), ("servers", time.get("servers")), ("bootTimeout", timeout))
        return [f"time.{key}" for key, value in fields if value]
    if kind == "KubeSpanConfig":
        return ["network.kubespan"] if network.get("kubespan") is not None else []
    if kind == "VolumeConfig" and document.get("name") in _VOLUMES:
        part = _VOLUMES[document["name"]]
        encrypted = not is_empty(KINDS[kind].fields["encryption"].type, document.get("encryption"))
        if encrypted and (machine.get("systemDiskEncryption") or {}).get(part) is not None:
            return [f"systemDiskEncryption.{part}"]
    return []


def _is_address(text: str) -> bool:
    try:
        address(text)
    except ValueError:
        return False
    return True
