"""What a cluster's real Kubernetes takes from the machine config of its control planes: its keys and its networks."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import documents_of
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
    encryption: tuple[tuple[str, Secret], ...] = field(repr=False)  # provider and key, the one that writes first
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
    main: Mapping[str, Any] = next((one for one in documents_of(text) if "kind" not in one), {})
    cluster: Mapping[str, Any] = main.get("cluster") or {}
    kubernetes, aggregator = _pair(cluster.get("ca")), _pair(cluster.get("aggregatorCA"))
    etcd = _pair((cluster.get("etcd") or {}).get("ca"))
    account = _pem((cluster.get("serviceAccount") or {}).get("key"))
    if kubernetes is None or aggregator is None or etcd is None or not account:
        return None
    network = cluster.get("network") or {}
    keys = (("secretbox", "secretboxEncryptionSecret"), ("aescbc", "aescbcEncryptionSecret"))
    return Identity(
        kubernetes=kubernetes,
        accepted=tuple(_pem(one.get("crt")) for one in cluster.get("acceptedCAs") or ()),
        aggregator=aggregator,
        etcd=etcd,
        service_account=Secret(account),
        encryption=tuple((name, Secret(str(cluster[key]))) for name, key in keys if cluster.get(key)),
        endpoint=str((cluster.get("controlPlane") or {}).get("endpoint") or "https://kubernetes.default.svc"),
        pod_subnets=tuple(map(str, network.get("podSubnets") or _POD_SUBNETS)),
        service_subnets=tuple(map(str, network.get("serviceSubnets") or _SERVICE_SUBNETS)),
        admission=_admission((cluster.get("apiServer") or {}).get("admissionControl") or ()),
    )


def _admission(plugins: Any) -> str:
    given = [{"name": one.get("name"), "configuration": one.get("configuration")} for one in plugins]
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    return json.dumps({**kind, "plugins": given}) if given else ""


def _pair(value: Mapping[str, Any] | None) -> CertificateAndKey | None:
    if not value or not value.get("crt") or not value.get("key"):
        return None
    return CertificateAndKey(_pem(value["crt"]), Secret(_pem(value["key"])))


def _pem(value: str | None) -> str:
    return base64.b64decode(value or "").decode()
