"""What a cluster's real Kubernetes takes from the machine config of its control planes: its keys and its networks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.desired.config.meaning.view import pair
from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import documents_of, meaning_of, pair_of
from talosmith_lab.world import World

_POD_SUBNETS, _SERVICE_SUBNETS = ("10.244.0.0/16",), ("10.96.0.0/12",)


@dataclass(frozen=True, slots=True)
class Identity:
    """Two that are equal are served by the same processes, run with the same files."""

    kubernetes: CertificateAndKey = field(repr=False)
    accepted: tuple[str, ...] = field(repr=False)  # further authorities of clients, PEM
    aggregator: CertificateAndKey = field(repr=False)
    etcd: CertificateAndKey = field(repr=False)
    service_account: Secret = field(repr=False)
    encryption: Secret = field(repr=False)  # an EncryptionConfiguration, as JSON
    endpoint: str
    pod_subnets: tuple[str, ...]
    service_subnets: tuple[str, ...]
    admission: str = ""  # the API server's admission plugins with their settings, as JSON

    def __hash__(self) -> int:
        return hash((self.kubernetes.certificate, self.endpoint))


def identity_of(world: World, machine: Machine) -> Identity | None:
    """None while the machine is not a control plane with keys to sign with."""
    return _read(world.texts[machine.run.config]) if machine.run and machine.run.config else None


@lru_cache(maxsize=256)
def _read(text: str) -> Identity | None:
    said = meaning_of(text)
    main: Mapping[str, Any] = next((one for one in documents_of(text) if "kind" not in one), {})
    aggregator = said.section("aggregator_ca") or {}
    pairs = [_with_key(one) for one in (said.kubernetes_ca, aggregator.get("issuing"), _etcd(main))]
    kubernetes, aggregation, etcd = pairs
    if kubernetes is None or aggregation is None or etcd is None or not said.service_account_key:
        return None
    network = said.section("network") or {}
    return Identity(
        kubernetes=kubernetes,
        accepted=said.kubernetes_accepted_cas,
        aggregator=aggregation,
        etcd=etcd,
        service_account=Secret(said.service_account_key),
        encryption=Secret(json.dumps(said.section("etcd_encryption"))),
        endpoint=said.endpoint or "https://kubernetes.default.svc",
        pod_subnets=tuple(network.get("podSubnets") or _POD_SUBNETS),
        service_subnets=tuple(network.get("serviceSubnets") or _SERVICE_SUBNETS),
        admission=_admission(said.section("admission_control") or {}),
    )


def _etcd(main: Mapping[str, Any]) -> Mapping[str, str] | None:
    return pair(((main.get("cluster") or {}).get("etcd") or {}).get("ca"))


def _with_key(value: Mapping[str, str] | None) -> CertificateAndKey | None:
    found = pair_of(value)
    return found if found is not None and found.key.reveal() else None


def _admission(plugins: Mapping[str, Any]) -> str:
    given = [{"name": name, "configuration": configuration} for name, configuration in plugins.items()]
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    return json.dumps({**kind, "plugins": given}) if given else ""
