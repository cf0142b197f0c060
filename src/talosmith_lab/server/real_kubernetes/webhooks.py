"""Webhooks and APIs of add-ons at a real API: which Services lead to a ready pod, and whose certificate they show.

Pods of webhooks make a certificate for themselves, and their own software (cert-manager's cainjector, a hook, the
operator) writes its CA into the webhook's configuration. The lab does that for those that bring no CA.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from talosmith.desired import pki
from talosmith.kube import KubeClient
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.server.real_kubernetes.following import Followed, look_on_changes
from talosmith_lab.server.real_kubernetes.pod_network import PodNetwork
from talosmith_lab.server.real_kubernetes.writing import STRATEGIC, Writer

_OF = "kubernetes.io/service-name"
_REGISTRATION = "admissionregistration.k8s.io/v1"
_PAUSE = 0.1


class Webhooks:
    def __init__(self, client: KubeClient, network: PodNetwork) -> None:
        self._writer = Writer(client)
        self._network = network
        self._trust = pki.to_base64(network.authority.certificate)
        self._changed = asyncio.Event()

        def followed(api_version: str, kind: str) -> Followed:
            return Followed(client, api_version, kind, self._changed.set)

        self._services = followed("v1", "Service")
        self._slices = followed("discovery.k8s.io/v1", "EndpointSlice")
        self._webhooks = [followed(_REGISTRATION, f"{one}WebhookConfiguration") for one in ("Mutating", "Validating")]
        self._apis = followed("apiregistration.k8s.io/v1", "APIService")

    async def keep(self) -> None:
        followed = [self._services, self._slices, self._apis, *self._webhooks]
        await look_on_changes(self._changed, self._look, _PAUSE, followed)

    async def _look(self) -> None:
        ready = {
            f"{one['metadata']['namespace']}/{(one['metadata'].get('labels') or {}).get(_OF)}"
            for one in self._slices.items.values()
            if any((end.get("conditions") or {}).get("ready") for end in one.get("endpoints") or ())
        }
        self._network.ready(dict(_addresses(self._services, ready)))
        for configuration in [one for followed in self._webhooks for one in followed.items.values()]:
            bare = [
                {"name": hook["name"], "clientConfig": {"caBundle": self._trust}}
                for hook in configuration.get("webhooks") or ()
                if _place(hook["clientConfig"]) in ready and not hook["clientConfig"].get("caBundle")
            ]
            if bare:
                await self._writer.merge(configuration, {"webhooks": bare}, kind=STRATEGIC)
        for api in list(self._apis.items.values()):
            spec = api["spec"]
            if _place(spec) in ready and not (spec.get("caBundle") or spec.get("insecureSkipTLSVerify")):
                await self._writer.merge(api, {"spec": {"caBundle": self._trust}})


def _addresses(services: Followed, ready: set[str]) -> Iterator[tuple[str, str]]:
    for key, service in services.items.items():
        if key in ready:
            metadata = service["metadata"]
            for address in service["spec"].get("clusterIPs") or ():
                yield str(address), f"{metadata['name']}.{metadata['namespace']}.svc"


def _place(client: Obj) -> str:
    """The Service that a webhook or an API is called by; empty if it has a URL or is the API server's own."""
    service = client.get("service")
    return f"{service['namespace']}/{service['name']}" if service else ""
