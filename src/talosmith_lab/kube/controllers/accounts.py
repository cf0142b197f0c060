"""What each namespace gets by itself: the account `default`, and the authority behind the API's certificates."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.objects import NAMESPACE, going, split
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.kinds import Kind, Obj, find

ACCOUNT = find("v1", "ServiceAccount")
CONFIG_MAP = find("v1", "ConfigMap")
ROOT = "kube-root-ca.crt"
_WHAT = "kubernetes.io/description"
_WHY = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class Accounts(Controller):
    name = "accounts"
    watches = (NAMESPACE, ACCOUNT, CONFIG_MAP)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        obj = now or before or {}
        metadata = obj["metadata"]
        if kind.root == NAMESPACE.root:
            if now is not None and before is None:
                yield metadata["name"]
        elif metadata["name"] in ("default", ROOT) and (now is None or kind.root == CONFIG_MAP.root):
            yield metadata["namespace"]

    def reconcile(self, key: str) -> None:
        namespace = self.api.find(NAMESPACE, split(key)[0])
        if namespace is None or going(namespace):
            return
        self.work.ensure(
            ACCOUNT,
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": key}},
        )
        authority = self._authority()
        if not authority:
            return
        metadata = {"name": ROOT, "namespace": key, "annotations": {_WHAT: _WHY}}
        wanted: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": authority}}
        found = self.api.find(CONFIG_MAP, ROOT, key)
        if found is not None and found.get("data") != wanted["data"]:
            self.work.put(CONFIG_MAP, {**found, "data": wanted["data"]})
        self.work.ensure(CONFIG_MAP, wanted)

    def _authority(self) -> str:
        for machine in self.work.control_planes:
            config = self.work.world.config(machine)
            if config is not None and config.kubernetes_authority is not None:
                return config.kubernetes_authority.certificate
        return ""
