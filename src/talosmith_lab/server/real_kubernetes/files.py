"""The files that the real programs read: certificates, keys, kubeconfigs. All of them are their owner's alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from talosmith.desired import pki
from talosmith.desired.pki import CLIENT, SERVER, CertificateAndKey
from talosmith.files.secret import make_private_folder, write_secret
from talosmith.kube.credentials import ADMINISTRATORS, SERVER_NAME, Credentials
from talosmith.model.secret import Secret
from talosmith_lab.server.real_kubernetes.identity import Identity

_LIFETIME = timedelta(days=365)
_MANAGER, _SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"


class Files:
    """In a folder of the cluster's own. Written again at each start, for certificates expire."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "etcd"
        self._names: tuple[str, ...] = ()

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, identity: Identity, host: str) -> None:
        """`host` is the address where they listen."""
        for folder in (self.folder, self.data):
            make_private_folder(folder)
        self._text("ca.crt", identity.kubernetes.certificate)
        self._text("clients.crt", "".join([identity.kubernetes.certificate, *identity.accepted]))
        self._key("ca.key", identity.kubernetes.key)
        self._text("aggregator.crt", identity.aggregator.certificate)
        self._text("etcd-ca.crt", identity.etcd.certificate)
        self._key("service-account.key", identity.service_account)
        self._text("encryption.json", _encryption(identity))
        if identity.admission:
            self._text("admission.json", identity.admission)
        self._pair("etcd", _leaf(identity.etcd, "etcd", names=("localhost", host), usages=(SERVER, CLIENT)))
        self._pair("etcd-client", _leaf(identity.etcd, "kube-apiserver"))
        self._pair("front-proxy", _leaf(identity.aggregator, "front-proxy-client"))
        self._names = ()

    def pod_network(self) -> CertificateAndKey:
        """The authority of all pods that serve. Objects hold its certificate, so it is made once."""
        certificate, key = self.folder / "pods.crt", self.folder / "pods.key"
        if not certificate.is_file():
            self._pair("pods", pki.new_authority("pods", pki.KeyKind.ECDSA_P256))
        return CertificateAndKey(certificate.read_text(), Secret(key.read_text()))

    def write_egress(self, proxy: str) -> None:
        """How the API server reaches pods: by a proxy that shows a certificate of theirs."""
        names = {"caBundle": "pods.crt", "clientCert": "front-proxy.crt", "clientKey": "front-proxy.key"}
        trust = {name: str(self.path(file)) for name, file in names.items()}
        way = {
            "proxyProtocol": "HTTPConnect",
            "transport": {"tcp": {"url": f"https://{proxy}", "tlsConfig": trust}},
        }
        kind = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        self._text("egress.json", json.dumps({**kind, "egressSelections": [{"name": "cluster", "connection": way}]}))

    def show_names(self, identity: Identity, names: Sequence[str]) -> None:
        """The API server's certificate; it takes a new one up as soon as the file is there."""
        if tuple(names) != self._names:
            self._names = tuple(names)
            self._pair(
                "apiserver",
                _leaf(identity.kubernetes, "kube-apiserver", ["kube-master"], names=names, usages=(SERVER,)),
            )

    def write_kubeconfigs(self, identity: Identity, server: str) -> None:
        for name, user in (("controller-manager", _MANAGER), ("scheduler", _SCHEDULER)):
            pair = _leaf(identity.kubernetes, user)
            self._text(f"{name}.kubeconfig", _kubeconfig(server, identity.kubernetes.certificate, pair))

    def _text(self, name: str, text: str) -> None:
        write_secret(self.folder / name, text.encode())

    def _key(self, name: str, key: Secret) -> None:
        """In the form that every client reads: Talos labels some keys in a way of its own."""
        write_secret(
            self.folder / name, pki.read_key(key).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )

    def _pair(self, name: str, pair: CertificateAndKey) -> None:
        # The key first: who sees the new certificate must find its key.
        self._key(f"{name}.key", pair.key)
        self._text(f"{name}.crt", pair.certificate)


def administrator(identity: Identity) -> Credentials:
    """Who the lab itself is to the API: it plays all kubelets, and Talos where that applies manifests."""
    pair = _leaf(identity.kubernetes, "talos:lab", [ADMINISTRATORS])
    return Credentials(identity.kubernetes.certificate, pair.certificate, pair.key, server_name=SERVER_NAME)


def _leaf(
    authority: CertificateAndKey,
    common_name: str,
    organizations: Sequence[str] = (),
    *,
    names: Sequence[str] = (),
    usages: Sequence[object] = (CLIENT,),
) -> CertificateAndKey:
    return pki.new_leaf(
        authority,
        organizations,
        lifetime=_LIFETIME,
        usages=usages,  # type: ignore[arg-type]
        common_name=common_name,
        names=names,
        now=datetime.now(UTC) - timedelta(hours=1),
    )


def _encryption(identity: Identity) -> str:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    return json.dumps({**kind, **json.loads(identity.encryption.reveal())})


def _kubeconfig(server: str, authority: str, pair: CertificateAndKey) -> str:
    cluster = {
        "server": f"https://{server}",
        "certificate-authority-data": pki.to_base64(authority),
        "tls-server-name": SERVER_NAME,
    }
    key = pki.read_key(pair.key).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    user = {"client-certificate-data": pki.to_base64(pair.certificate), "client-key-data": pki.to_base64(key)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "lab", "user": user}],
        }
    )
