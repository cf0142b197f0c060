"""How etcd, the API server, the controllers and the scheduler of one cluster are started."""

from __future__ import annotations

from collections.abc import Sequence

from talosmith.providers.lab.binaries import Binaries
from talosmith.providers.lab.process import PaceName
from talosmith_lab.server.real_kubernetes.children import Child
from talosmith_lab.server.real_kubernetes.files import Files
from talosmith_lab.server.real_kubernetes.identity import Identity

_PEERS = "https://127.0.0.1:2380"  # there is one member only: no peer connects
# How long a node may be silent until it counts as gone; as Kubernetes has it, or short enough for tests.
GRACE: dict[PaceName, float] = {"instant": 8, "fast": 8, "realistic": 50}


class Programs:
    def __init__(
        self, binaries: Binaries, files: Files, identity: Identity, pace: PaceName, etcd: str, apiserver: str
    ) -> None:
        """`etcd` and `apiserver` are the addresses where they listen."""
        self._files = files
        self._identity = identity
        self._pace = pace
        self._etcd_address, self._api_address = etcd, apiserver
        folder = files.folder
        self.etcd = Child("etcd", folder, binaries.etcd, self._etcd, graceful=True)
        self.apiserver = Child("kube-apiserver", folder, binaries.apiserver, self._apiserver)
        controllers = Child("kube-controller-manager", folder, binaries.controller_manager, self._controllers)
        self.controllers = [controllers]
        if binaries.scheduler is not None:
            self.controllers.append(Child("kube-scheduler", folder, binaries.scheduler, self._scheduler))

    @property
    def has_scheduler(self) -> bool:
        return len(self.controllers) > 1

    async def stop(self) -> None:
        for child in (*self.controllers, self.apiserver, self.etcd):
            await child.stop()

    def _etcd(self) -> Sequence[str]:
        path, url = self._files.path, f"https://{self._etcd_address}"
        return (
            f"--data-dir={self._files.data}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            "--listen-peer-urls=https://127.0.0.1:0",
            f"--initial-advertise-peer-urls={_PEERS}",
            f"--initial-cluster=default={_PEERS}",
            f"--cert-file={path('etcd.crt')}",
            f"--key-file={path('etcd.key')}",
            f"--trusted-ca-file={path('etcd-ca.crt')}",
            "--client-cert-auth",
            f"--peer-cert-file={path('etcd.crt')}",
            f"--peer-key-file={path('etcd.key')}",
            f"--peer-trusted-ca-file={path('etcd-ca.crt')}",
            "--peer-client-cert-auth",
            # What was written survives the end of the lab without it; a lab need not survive that of the computer.
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def _apiserver(self) -> Sequence[str]:
        path, identity = self._files.path, self._identity
        host, _, port = self._api_address.rpartition(":")
        given = [
            f"--etcd-servers=https://{self._etcd_address}",
            f"--etcd-cafile={path('etcd-ca.crt')}",
            f"--etcd-certfile={path('etcd-client.crt')}",
            f"--etcd-keyfile={path('etcd-client.key')}",
            f"--bind-address={host}",
            f"--secure-port={port}",
            f"--tls-cert-file={path('apiserver.crt')}",
            f"--tls-private-key-file={path('apiserver.key')}",
            f"--client-ca-file={path('clients.crt')}",
            f"--requestheader-client-ca-file={path('aggregator.crt')}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={path('front-proxy.crt')}",
            f"--proxy-client-key-file={path('front-proxy.key')}",
            f"--service-account-key-file={path('service-account.key')}",
            f"--service-account-signing-key-file={path('service-account.key')}",
            f"--service-account-issuer={identity.endpoint}",
            f"--api-audiences={identity.endpoint}",
            f"--service-cluster-ip-range={','.join(identity.service_subnets)}",
            f"--encryption-provider-config={path('encryption.json')}",
            f"--egress-selector-config-file={path('egress.json')}",
            "--enable-admission-plugins=NodeRestriction",
            "--enable-bootstrap-token-auth=true",
            "--authorization-mode=Node,RBAC",
            "--anonymous-auth=false",
            "--allow-privileged=true",
            "--profiling=false",
            "--endpoint-reconciler-type=none",  # which takes no address on loopback
        ]
        if identity.admission:
            given.append(f"--admission-control-config-file={path('admission.json')}")
        return given

    def _controllers(self) -> Sequence[str]:
        path, identity, grace = self._files.path, self._identity, GRACE[self._pace]
        return (
            f"--kubeconfig={path('controller-manager.kubeconfig')}",
            "--controllers=*,tokencleaner",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={path('service-account.key')}",
            f"--root-ca-file={path('ca.crt')}",
            f"--cluster-signing-cert-file={path('ca.crt')}",
            f"--cluster-signing-key-file={path('ca.key')}",
            "--allocate-node-cidrs",
            f"--cluster-cidr={','.join(identity.pod_subnets)}",
            f"--service-cluster-ip-range={','.join(identity.service_subnets)}",
            f"--node-monitor-grace-period={grace:g}s",
            f"--node-monitor-period={max(0.5, grace / 10):g}s",
            "--leader-elect=false",
            "--profiling=false",
            "--secure-port=0",
        )

    def _scheduler(self) -> Sequence[str]:
        return (
            f"--kubeconfig={self._files.path('scheduler.kubeconfig')}",
            "--leader-elect=false",
            "--profiling=false",
            "--secure-port=0",
        )
