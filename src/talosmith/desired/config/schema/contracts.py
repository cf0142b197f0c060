"""What each Talos minor version expects to find in a fresh config, as data.

A contract is named by the version that the nodes run. A new Talos version is one more entry here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from talosmith.errors import UsageError


@dataclass(frozen=True, slots=True)
class Contract:
    version: tuple[int, int]
    features: Mapping[str, Any]  # machine.features
    install: Mapping[str, Any] = field(default_factory=dict)  # more of machine.install
    api_server: Mapping[str, Any] = field(default_factory=dict)  # more of cluster.apiServer
    endpoint_in_sans: bool = False  # the endpoint's host is written into the API server's certSANs
    network_section: bool = False  # machine.network is there, even if empty
    mirrors_as_documents: bool = True
    kubespan_as_document: bool = True
    kubernetes_as_documents: bool = False  # Kubernetes, installation, discovery and host DNS, too
    documents: tuple[Mapping[str, Any], ...] = ()  # what stands beside the main document

    def __str__(self) -> str:
        return "{}.{}".format(*self.version)


_FEATURES = {
    "diskQuotaSupport": True,
    "kubePrism": {"enabled": True, "port": 7445},
    "hostDNS": {"enabled": True, "forwardKubeDNSToHost": True},
}
_1_8 = Contract(
    (1, 8),
    features={"rbac": True, "stableHostname": True, "apidCheckExtKeyUsage": True, **_FEATURES},
    api_server={"disablePodSecurityPolicy": True},
    endpoint_in_sans=True,
    network_section=True,
    mirrors_as_documents=False,
    kubespan_as_document=False,
)
_1_12 = Contract(
    (1, 12),
    features=_FEATURES,
    install={"grubUseUKICmdline": True},
    network_section=True,
    kubespan_as_document=False,
    documents=({"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "stable"},),
)
_1_13 = replace(_1_12, version=(1, 13), network_section=False, kubespan_as_document=True)
_1_14 = replace(_1_13, version=(1, 14), features={"diskQuotaSupport": True}, install={}, kubernetes_as_documents=True)

CONTRACTS: Mapping[tuple[int, int], Contract] = MappingProxyType(
    {
        contract.version: contract
        for contract in (
            _1_8,
            replace(_1_8, version=(1, 9)),
            replace(_1_8, version=(1, 10)),
            replace(_1_8, version=(1, 11)),
            _1_12,
            _1_13,
            _1_14,
        )
    }
)
OLDEST, NEWEST = min(CONTRACTS), max(CONTRACTS)


def contract_for(version: str) -> Contract:
    """The contract of a Talos version such as `v1.13.2` or `1.13`.

    A version newer than every contract gets the newest one: Talos goes on accepting what the version before wrote.
    """
    match = re.match(r"v?(\d+)\.(\d+)(?:$|[.-])", version)
    if match is None:
        raise UsageError(f"{version!r} is not a Talos version", hint="Write it like v1.13.2.")
    wanted = (int(match[1]), int(match[2]))
    if wanted < OLDEST:
        raise UsageError(
            f"Talos {version} is too old: configs are made for {CONTRACTS[OLDEST]} and later",
            hint="Upgrade the cluster with its own tools first.",
        )
    return CONTRACTS.get(wanted, CONTRACTS[NEWEST])
