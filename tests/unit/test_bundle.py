"""The secrets bundle: making, reading, writing and refusing it."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

NOW = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
PATHS = [
    "cluster.id",
    "cluster.secret",
    "secrets.bootstraptoken",
    "trustdinfo.token",
    *(f"certs.{name}.{part}" for name in ("etcd", "k8s", "k8saggregator", "os") for part in ("crt", "key")),
    "certs.k8sserviceaccount.key",
]
PEM_PATHS = [path for path in PATHS if path.startswith("certs.")]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.generate(NOW)


@pytest.fixture
def mapping(bundle: Bundle) -> dict[str, Any]:
    return bundle.to_mapping()


def put(mapping: dict[str, Any], path: str, value: Any) -> None:
    *sections, name = path.split(".")
    for section in sections:
        mapping = mapping[section]
    if value is None:
        del mapping[name]
    else:
        mapping[name] = value


def secret_texts(mapping: dict[str, Any]) -> list[str]:
    """Every secret of the bundle, and the body of every key, as it might leak."""
    keys = [part["key"] for part in mapping["certs"].values()]
    bodies = [base64.b64decode(key).decode().splitlines()[1] for key in keys]
    others = [mapping["cluster"]["secret"], *mapping["secrets"].values(), mapping["trustdinfo"]["token"]]
    return [*keys, *bodies, *others]


def test_a_fresh_bundle_is_what_talosctl_makes(bundle: Bundle) -> None:
    bundle.validate()
    assert len(base64.urlsafe_b64decode(bundle.cluster_id)) == 32
    for secret in (bundle.cluster_secret, bundle.secretbox_encryption_secret):
        assert secret is not None
        assert len(base64.b64decode(secret.reveal(), validate=True)) == 32
    for token in (bundle.bootstrap_token, bundle.trustd_token):
        assert re.fullmatch(r"[0-9a-z]{6}\.[0-9a-z]{16}", token.reveal())
    assert bundle.bootstrap_token != bundle.trustd_token
    assert bundle.aescbc_encryption_secret is None
    names = {name: pki.read_certificate(pair.certificate) for name, pair in bundle.authorities.items()}
    assert {name: certificate.subject.rfc4514_string() for name, certificate in names.items()} == {
        "etcd": "O=etcd",
        "k8s": "O=kubernetes",
        "k8saggregator": "",
        "os": "O=talos",
    }
    assert {certificate.not_valid_before_utc for certificate in names.values()} == {NOW}
    assert {certificate.not_valid_after_utc for certificate in names.values()} == {NOW + timedelta(days=3650)}
    assert bundle.os.key.reveal().startswith("-----BEGIN ED25519 PRIVATE KEY-----")
    assert bundle.k8s.key.reveal().startswith("-----BEGIN EC PRIVATE KEY-----")
    account = pki.read_key(bundle.k8s_service_account)
    assert isinstance(account, rsa.RSAPrivateKey)
    assert account.key_size == 4096


def test_it_is_written_in_talosctl_order(mapping: dict[str, Any]) -> None:
    assert {name: list(part) for name, part in mapping.items()} == {
        "cluster": ["id", "secret"],
        "secrets": ["bootstraptoken", "secretboxencryptionsecret"],
        "trustdinfo": ["token"],
        "certs": ["etcd", "k8s", "k8saggregator", "k8sserviceaccount", "os"],
    }
    assert {name: list(part) for name, part in mapping["certs"].items()} == {
        "etcd": ["crt", "key"],
        "k8s": ["crt", "key"],
        "k8saggregator": ["crt", "key"],
        "k8sserviceaccount": ["key"],
        "os": ["crt", "key"],
    }


def test_it_reads_what_it_wrote(bundle: Bundle, mapping: dict[str, Any]) -> None:
    assert Bundle.from_mapping(mapping) == bundle


def test_an_old_cluster_keeps_its_other_encryption_secret(bundle: Bundle, mapping: dict[str, Any]) -> None:
    mapping["secrets"]["aescbcencryptionsecret"] = mapping["secrets"].pop("secretboxencryptionsecret")
    old = Bundle.from_mapping(mapping)
    assert (old.secretbox_encryption_secret, old.aescbc_encryption_secret) == (
        None,
        bundle.secretbox_encryption_secret,
    )
    assert list(old.to_mapping()["secrets"]) == ["bootstraptoken", "aescbcencryptionsecret"]


def refusal(read: Callable[[], object], mapping: dict[str, Any]) -> str:
    with pytest.raises(SecretsError) as caught:
        read()
    said = f"{caught.value} {caught.value.hint}"
    assert not [secret for secret in secret_texts(mapping) if secret in said]
    return said


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", [None, "", 12345.6789, "******"])
def test_a_field_that_is_not_there_is_named(mapping: dict[str, Any], path: str, value: Any) -> None:
    whole = copy.deepcopy(mapping)
    put(mapping, path, value)
    said = refusal(lambda: Bundle.from_mapping(mapping), whole)
    reason = {None: "is missing", "": "is missing", 12345.6789: "is not text", "******": "is redacted"}[value]
    assert f"- {path} {reason}" in said
    assert said.count("\n  - ") == 1


@pytest.mark.parametrize("path", PEM_PATHS)
@pytest.mark.parametrize("value", ["not base64!", base64.b64encode(b"\xff\xfe").decode(), "bm90IFBFTQ=="])
def test_a_field_that_holds_nonsense_is_named(mapping: dict[str, Any], path: str, value: str) -> None:
    whole = copy.deepcopy(mapping)
    put(mapping, path, value)
    assert f"- {path} is not" in refusal(lambda: Bundle.from_mapping(mapping), whole)


def test_all_complaints_come_at_once(mapping: dict[str, Any]) -> None:
    whole = copy.deepcopy(mapping)
    del mapping["cluster"]
    del mapping["certs"]["os"]["key"]
    said = refusal(lambda: Bundle.from_mapping(mapping), whole)
    for path in ("cluster.id", "cluster.secret", "certs.os.key"):
        assert f"- {path} is missing" in said


def test_exactly_one_encryption_secret(mapping: dict[str, Any]) -> None:
    whole = copy.deepcopy(mapping)
    mapping["secrets"]["aescbcencryptionsecret"] = mapping["secrets"]["secretboxencryptionsecret"]
    assert "both of secrets.secretboxencryptionsecret" in refusal(lambda: Bundle.from_mapping(mapping), whole)
    del mapping["secrets"]["aescbcencryptionsecret"]
    del mapping["secrets"]["secretboxencryptionsecret"]
    assert "neither of secrets.secretboxencryptionsecret" in refusal(lambda: Bundle.from_mapping(mapping), whole)


def test_a_key_of_another_certificate_is_refused(mapping: dict[str, Any]) -> None:
    certs = mapping["certs"]
    certs["etcd"]["key"], certs["k8s"]["key"] = certs["k8s"]["key"], certs["etcd"]["key"]
    said = refusal(lambda: Bundle.from_mapping(mapping), mapping)
    assert "certs.etcd.key is not the key of certs.etcd.crt" in said
    assert "certs.k8s.key is not the key of certs.k8s.crt" in said


@pytest.mark.parametrize(
    "path", ["extra", "cluster.name", "certs.k8ss", "certs.etcd.note", "certs.k8sserviceaccount.crt"]
)
def test_a_field_that_would_be_lost_is_refused(mapping: dict[str, Any], path: str) -> None:
    whole = copy.deepcopy(mapping)
    put(mapping, path, "x")
    assert f"- {path} is not a known field" in refusal(lambda: Bundle.from_mapping(mapping), whole)


def test_no_secret_is_shown_by_itself(bundle: Bundle, mapping: dict[str, Any]) -> None:
    shown = f"{bundle!r} {bundle} {[getattr(bundle, field.name) for field in fields(bundle)]}"
    assert not [secret for secret in secret_texts(mapping) if secret in shown]
    assert bundle.cluster_id in shown


def test_fingerprints_are_those_of_the_certificates(bundle: Bundle) -> None:
    certificate = pki.read_certificate(bundle.os.certificate)
    assert bundle.fingerprint() == hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()
    prints = bundle.fingerprints()
    assert list(prints) == ["etcd", "k8s", "k8saggregator", "k8sserviceaccount", "os"]
    assert len(set(prints.values())) == 5
    assert prints["k8s"] == certificate_print(bundle.k8s.certificate)


def certificate_print(pem: str) -> str:
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    return hashlib.sha256(base64.b64decode(body)).hexdigest()


def machine_config(mapping: dict[str, Any]) -> list[dict[str, Any]]:
    certs = mapping["certs"]
    config = {
        "version": "v1alpha1",
        "machine": {"type": "controlplane", "token": mapping["trustdinfo"]["token"], "ca": certs["os"]},
        "cluster": {
            **mapping["cluster"],
            "token": mapping["secrets"]["bootstraptoken"],
            "secretboxEncryptionSecret": mapping["secrets"]["secretboxencryptionsecret"],
            "ca": certs["k8s"],
            "aggregatorCA": certs["k8saggregator"],
            "serviceAccount": certs["k8sserviceaccount"],
            "etcd": {"ca": certs["etcd"]},
        },
    }
    return [{"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "stable"}, config]


def test_a_control_planes_config_holds_the_whole_bundle(bundle: Bundle, mapping: dict[str, Any]) -> None:
    assert Bundle.from_machine_config(machine_config(mapping)) == bundle


def test_other_machine_configs_are_refused(mapping: dict[str, Any]) -> None:
    documents = machine_config(mapping)
    assert "no v1alpha1 document" in refusal(lambda: Bundle.from_machine_config(documents[:1]), mapping)
    documents[1]["machine"]["type"] = "worker"
    assert "not one of a control plane" in refusal(lambda: Bundle.from_machine_config(documents), mapping)
    documents[1]["machine"]["type"] = "controlplane"
    documents[1]["machine"]["ca"] = {"crt": mapping["certs"]["os"]["crt"], "key": "******"}
    documents[1]["cluster"]["aggregatorCA"] = None
    said = refusal(lambda: Bundle.from_machine_config(documents), mapping)
    assert "- machine.ca.key is redacted" in said
    assert "- cluster.aggregatorCA.crt is missing" in said


def kubernetes_folder(bundle: Bundle) -> dict[str, bytes]:
    pairs = {"ca": bundle.k8s, "etcd/ca": bundle.etcd, "front-proxy-ca": bundle.k8s_aggregator}
    files = {f"{stem}.crt": pair.certificate.encode() for stem, pair in pairs.items()}
    files |= {f"{stem}.key": pair.key.reveal().encode() for stem, pair in pairs.items()}
    return files | {"sa.key": bundle.k8s_service_account.reveal().encode(), "sa.pub": b"not needed"}


def test_a_kubernetes_pki_folder_keeps_its_authorities_and_gets_the_rest(bundle: Bundle) -> None:
    made = Bundle.from_kubernetes_pki(kubernetes_folder(bundle), now=NOW)
    kept = ("k8s", "etcd", "k8s_aggregator", "k8s_service_account")
    for field in fields(Bundle):
        same = getattr(made, field.name) == getattr(bundle, field.name)
        assert same == (field.name in kept or field.name == "aescbc_encryption_secret"), field.name
    token = Secret("abcdef.0123456789abcdef")
    assert Bundle.from_kubernetes_pki(kubernetes_folder(bundle), token).bootstrap_token == token


def test_an_incomplete_kubernetes_pki_folder_is_refused(bundle: Bundle, mapping: dict[str, Any]) -> None:
    files = kubernetes_folder(bundle)
    del files["etcd/ca.key"]
    files["front-proxy-ca.crt"] = b""
    files["sa.key"] = b"\xff"
    said = refusal(lambda: Bundle.from_kubernetes_pki(files), mapping)
    assert "- etcd/ca.key is missing" in said
    assert "- front-proxy-ca.crt is empty" in said
    assert "- sa.key is not text" in said
    files = kubernetes_folder(bundle) | {"ca.key": bundle.etcd.key.reveal().encode()}
    assert "certs.k8s.key is not the key of" in refusal(lambda: Bundle.from_kubernetes_pki(files), mapping)


def test_secrets_for_too_old_a_talos_are_not_made() -> None:
    with pytest.raises(SecretsError, match=r"1\.6 cannot be made"):
        Bundle.generate(contract=(1, 6))


def test_a_bundle_put_together_wrongly_does_not_pass(bundle: Bundle) -> None:
    with pytest.raises(SecretsError, match=r"trustdinfo\.token is missing"):
        replace(bundle, trustd_token=Secret("")).validate()
