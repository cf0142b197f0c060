"""The secrets of a cluster, in the shape talosctl keeps them in `secrets.yaml`.

Everything a node is configured with and everything that opens the cluster follows from a bundle, so it is made
once, checked whenever it is read, and says what is wrong with it by the field's name, never by its value.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from cryptography.hazmat.primitives.serialization import Encoding

from talosmith.desired import pki
from talosmith.desired.bundle_documents import with_document_secrets
from talosmith.desired.bundle_fields import FieldReader, complain
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

OLDEST_CONTRACT = (1, 7)  # before it, a fresh service account key was not RSA
NEWEST_CONTRACT = (1, 14)

_FIELDS = {
    "": ("cluster", "secrets", "trustdinfo", "certs"),
    "cluster": ("id", "secret"),
    "secrets": ("bootstraptoken", "aescbcencryptionsecret", "secretboxencryptionsecret"),
    "trustdinfo": ("token",),
    "certs": ("etcd", "k8s", "k8saggregator", "k8sserviceaccount", "os"),
    **{f"certs.{name}": ("crt", "key") for name in ("etcd", "k8s", "k8saggregator", "os")},
    "certs.k8sserviceaccount": ("key",),
}
_TOKEN_LETTERS = string.digits + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class Bundle:
    """Every secret of one cluster; certificates and keys as PEM text."""

    cluster_id: str
    cluster_secret: Secret
    bootstrap_token: Secret
    trustd_token: Secret
    etcd: CertificateAndKey
    k8s: CertificateAndKey
    k8s_aggregator: CertificateAndKey
    k8s_service_account: Secret
    os: CertificateAndKey
    secretbox_encryption_secret: Secret | None = None
    aescbc_encryption_secret: Secret | None = None  # in clusters that were made before Talos 1.3

    @classmethod
    def generate(cls, now: datetime | None = None, contract: tuple[int, int] = NEWEST_CONTRACT) -> Self:
        """A fresh bundle, as `talosctl gen secrets` makes it."""
        return cls._completed({}, now, contract)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """The content of a `secrets.yaml`; every field is there and sound, or it is refused."""
        read = FieldReader(data, "the secrets file")
        for section, names in _FIELDS.items():
            read.refuse_others(section, names)
        bundle = cls(
            cluster_id=read.text("cluster.id"),
            cluster_secret=read.secret("cluster.secret"),
            bootstrap_token=read.secret("secrets.bootstraptoken"),
            trustd_token=read.secret("trustdinfo.token"),
            etcd=read.pair("certs.etcd"),
            k8s=read.pair("certs.k8s"),
            k8s_aggregator=read.pair("certs.k8saggregator"),
            k8s_service_account=read.key("certs.k8sserviceaccount.key"),
            os=read.pair("certs.os"),
            secretbox_encryption_secret=read.optional_secret("secrets.secretboxencryptionsecret"),
            aescbc_encryption_secret=read.optional_secret("secrets.aescbcencryptionsecret"),
        )
        read.finish()
        bundle.validate()
        return bundle

    @classmethod
    def from_machine_config(cls, documents: Iterable[Mapping[str, Any]]) -> Self:
        """What a control plane's machine config holds, which is everything."""
        documents = list(documents)
        config = next((document for document in documents if "kind" not in document and "machine" in document), None)
        if config is None:
            raise SecretsError("the machine config has no v1alpha1 document, which is where the secrets stand")
        read = FieldReader(with_document_secrets(config, documents), "the machine config")
        if read.text("machine.type") not in ("controlplane", "init"):
            raise SecretsError(
                "the machine config is not one of a control plane, and only these hold all secrets",
                hint="Take the config of a control plane: talosctl -n NODE get machineconfig v1alpha1 -o yaml",
            )
        bundle = cls(
            cluster_id=read.text("cluster.id"),
            cluster_secret=read.secret("cluster.secret"),
            bootstrap_token=read.secret("cluster.token"),
            trustd_token=read.secret("machine.token"),
            etcd=read.pair("cluster.etcd.ca"),
            k8s=read.pair("cluster.ca"),
            k8s_aggregator=read.pair("cluster.aggregatorCA"),
            k8s_service_account=read.key("cluster.serviceAccount.key"),
            os=read.pair("machine.ca"),
            secretbox_encryption_secret=read.optional_secret("cluster.secretboxEncryptionSecret"),
            aescbc_encryption_secret=read.optional_secret("cluster.aescbcEncryptionSecret"),
        )
        read.finish()
        bundle.validate()
        return bundle

    @classmethod
    def from_kubernetes_pki(
        cls,
        files: Mapping[str, bytes],
        bootstrap_token: Secret | None = None,
        now: datetime | None = None,
        contract: tuple[int, int] = NEWEST_CONTRACT,
    ) -> Self:
        """The authorities of a cluster that kubeadm made, from its `/etc/kubernetes/pki`; the rest is fresh.

        `files` maps names below that folder, such as `etcd/ca.crt`, to what they hold.
        """
        read = FieldReader(files, "the Kubernetes PKI folder")
        known: dict[str, Any] = {
            "k8s": read.file_pair("ca"),
            "etcd": read.file_pair("etcd/ca"),
            "k8s_aggregator": read.file_pair("front-proxy-ca"),
            "k8s_service_account": Secret(read.file("sa.key")),
        }
        read.finish()
        if bootstrap_token:
            known["bootstrap_token"] = bootstrap_token
        bundle = cls._completed(known, now, contract)
        bundle.validate()
        return bundle

    @classmethod
    def _completed(cls, known: Mapping[str, Any], now: datetime | None, contract: tuple[int, int]) -> Self:
        """The known fields, and fresh ones for the others."""
        if contract < OLDEST_CONTRACT:
            raise SecretsError(
                f"fresh secrets for Talos {contract[0]}.{contract[1]} cannot be made",
                hint="Make them with the talosctl of that version and import its secrets.yaml.",
            )
        one_time = now or datetime.now(UTC)
        make: dict[str, Callable[[], Any]] = {
            "etcd": lambda: pki.new_authority("etcd", KeyKind.ECDSA_P256, now=one_time),
            "k8s": lambda: pki.new_authority("kubernetes", KeyKind.ECDSA_P256, now=one_time),
            "k8s_aggregator": lambda: pki.new_authority("", KeyKind.ECDSA_P256, now=one_time),
            "k8s_service_account": lambda: pki.write_key(pki.new_key(KeyKind.RSA_4096)),
            "os": lambda: pki.new_authority("talos", KeyKind.ED25519, now=one_time),
            "bootstrap_token": _new_token,
            "secretbox_encryption_secret": _new_secret,
            "trustd_token": _new_token,
            "cluster_id": lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "cluster_secret": _new_secret,
        }
        return cls(**{name: known[name] if name in known else fresh() for name, fresh in make.items()})

    @property
    def authorities(self) -> dict[str, CertificateAndKey]:
        """By their names in `secrets.yaml`."""
        return {"etcd": self.etcd, "k8s": self.k8s, "k8saggregator": self.k8s_aggregator, "os": self.os}

    def to_mapping(self) -> dict[str, Any]:
        """What stands in `secrets.yaml`, in its order, and in the clear."""
        certs: dict[str, Any] = {
            name: {"crt": pki.to_base64(pair.certificate), "key": pki.to_base64(pair.key.reveal())}
            for name, pair in self.authorities.items()
        }
        certs["k8sserviceaccount"] = {"key": pki.to_base64(self.k8s_service_account.reveal())}
        encryption = {
            "aescbcencryptionsecret": self.aescbc_encryption_secret,
            "secretboxencryptionsecret": self.secretbox_encryption_secret,
        }
        return {
            "cluster": {"id": self.cluster_id, "secret": self.cluster_secret.reveal()},
            "secrets": {
                "bootstraptoken": self.bootstrap_token.reveal(),
                **{name: secret.reveal() for name, secret in encryption.items() if secret},
            },
            "trustdinfo": {"token": self.trustd_token.reveal()},
            "certs": {name: certs[name] for name in _FIELDS["certs"]},
        }

    def validate(self) -> None:
        """Refuses what Talos would refuse, and keys that do not belong to their certificates."""
        problems = []
        for field, value in (
            ("cluster.id", self.cluster_id),
            ("cluster.secret", self.cluster_secret),
            ("secrets.bootstraptoken", self.bootstrap_token),
            ("trustdinfo.token", self.trustd_token),
        ):
            if not value:
                problems.append(f"{field} is missing")
        if bool(self.secretbox_encryption_secret) == bool(self.aescbc_encryption_secret):
            amount = "both" if self.secretbox_encryption_secret else "neither"
            problems.append(
                f"{amount} of secrets.secretboxencryptionsecret and secrets.aescbcencryptionsecret is there, "
                "and exactly one must be"
            )
        for name, pair in self.authorities.items():
            problems += _problems_of_pair(f"certs.{name}", pair)
        try:
            pki.read_key(self.k8s_service_account)
        except SecretsError as problem:
            problems.append(f"certs.k8sserviceaccount.key {problem}")
        complain("the secrets bundle", problems)

    def fingerprint(self) -> str:
        """SHA-256 of the OS authority's certificate: which cluster this is, for people to compare."""
        return self.fingerprints()["os"]

    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of each authority's certificate, and of the service account's public key."""
        parts = {
            name: pki.read_certificate(pair.certificate).public_bytes(Encoding.DER)
            for name, pair in self.authorities.items()
        }
        parts["k8sserviceaccount"] = pki.public_bytes(pki.read_key(self.k8s_service_account))
        return {name: hashlib.sha256(parts[name]).hexdigest() for name in _FIELDS["certs"]}


def _problems_of_pair(field: str, pair: CertificateAndKey) -> list[str]:
    problems = []
    try:
        certificate = pki.read_certificate(pair.certificate)
    except SecretsError as problem:
        problems.append(f"{field}.crt {problem}")
    try:
        key = pki.read_key(pair.key)
    except SecretsError as problem:
        problems.append(f"{field}.key {problem}")
    if not problems and pki.public_bytes(certificate) != pki.public_bytes(key):
        problems.append(f"{field}.key is not the key of {field}.crt")
    return problems


def _new_token() -> Secret:
    """In kubeadm's form: six letters or digits, a dot, sixteen more."""
    return Secret(".".join("".join(secrets.choice(_TOKEN_LETTERS) for _ in range(size)) for size in (6, 16)))


def _new_secret() -> Secret:
    return Secret(base64.b64encode(secrets.token_bytes(32)).decode())
