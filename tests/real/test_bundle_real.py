"""Secrets, certificates and talosconfigs against the real talosctl: what one makes, the other takes."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.talosconfig import Talosconfig, new_talosconfig
from talosmith.yaml import goyaml

CONTRACTS = ("v1.8", "v1.9", "v1.10", "v1.11", "v1.12", "v1.13")


@dataclass(frozen=True)
class Workshop:
    """A folder with a bundle of talosctl's, one of ours, and what talosctl makes of both."""

    talosctl: Path
    folder: Path
    ours: Bundle

    def run(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self.talosctl, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def gen_config(self, secrets: str, kind: str, *more: str) -> str:
        plain = ("--with-docs=false", "--with-examples=false", "--force", "--output", "-", "--output-types", kind)
        return self.run("gen", "config", "home", "https://10.0.0.1:6443", "--with-secrets", secrets, *plain, *more)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture(scope="module")
def shop(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    shop = Workshop(peer("talosctl"), tmp_path_factory.mktemp("bundle"), Bundle.generate())
    shop.run("gen", "secrets", "--output-file", "theirs.yaml")
    (shop.folder / "ours.yaml").write_text(goyaml.dump(shop.ours.to_mapping()))
    return shop


@pytest.fixture(scope="module")
def theirs(shop: Workshop) -> Bundle:
    return Bundle.from_mapping(yaml.safe_load(shop.text("theirs.yaml")))


def test_a_secrets_file_of_talosctl_comes_back_byte_for_byte(shop: Workshop, theirs: Bundle) -> None:
    assert goyaml.dump(theirs.to_mapping()) == shop.text("theirs.yaml")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_our_bundle_is_taken_for_every_contract_and_comes_out_of_the_config_again(
    shop: Workshop, contract: str
) -> None:
    config = shop.gen_config("ours.yaml", "controlplane", "--talos-version", contract)
    assert Bundle.from_machine_config(yaml.safe_load_all(config)) == shop.ours


def test_talosctl_reads_the_same_from_a_config_as_we_do(shop: Workshop) -> None:
    (shop.folder / "controlplane.yaml").write_text(shop.gen_config("ours.yaml", "controlplane"))
    shop.run("gen", "secrets", "--from-controlplane-config", "controlplane.yaml", "--output-file", "again.yaml")
    assert shop.text("again.yaml") == shop.text("ours.yaml")


def test_talosctl_and_we_make_the_same_of_a_kubernetes_pki_folder(shop: Workshop) -> None:
    pairs = {"ca": shop.ours.k8s, "etcd/ca": shop.ours.etcd, "front-proxy-ca": shop.ours.k8s_aggregator}
    files = {f"{stem}.crt": pair.certificate.encode() for stem, pair in pairs.items()}
    files |= {f"{stem}.key": pair.key.reveal().encode() for stem, pair in pairs.items()}
    files["sa.key"] = shop.ours.k8s_service_account.reveal().encode()
    (shop.folder / "pki" / "etcd").mkdir(parents=True)
    for name, content in files.items():
        (shop.folder / "pki" / name).write_bytes(content)
    shop.run("gen", "secrets", "--from-kubernetes-pki", "pki", "--output-file", "from-pki.yaml")
    made = Bundle.from_kubernetes_pki(files).to_mapping()
    real = yaml.safe_load(shop.text("from-pki.yaml"))
    for name in ("etcd", "k8s", "k8saggregator", "k8sserviceaccount"):
        assert made["certs"][name] == real["certs"][name]
    assert [list(part) for part in made.values()] == [list(part) for part in real.values()]


def anatomy(certificate: x509.Certificate) -> dict[str, Any]:
    """Everything of a certificate that is not random or a date."""
    extensions = []
    for extension in certificate.extensions:
        value: Any = extension.value
        if isinstance(value, x509.SubjectKeyIdentifier):
            value = len(value.digest)
        elif isinstance(value, x509.AuthorityKeyIdentifier):
            value = (
                len(value.key_identifier or b""),
                value.authority_cert_issuer,
                value.authority_cert_serial_number,
            )
        extensions.append((extension.oid, extension.critical, value))
    return {
        "version": certificate.version,
        "subject": certificate.subject.public_bytes(),
        "issuer": certificate.issuer.public_bytes(),
        "algorithm": certificate.signature_algorithm_oid,
        "key": type(certificate.public_key()),
        # talosctl asks for the time twice, for the beginning and for the end; a second may pass in between.
        "minutes": round((certificate.not_valid_after_utc - certificate.not_valid_before_utc) / timedelta(minutes=1)),
        "long serial": certificate.serial_number.bit_length() > 100,
        "extensions": extensions,
    }


@pytest.mark.parametrize("name", ["etcd", "k8s", "k8saggregator", "os"])
def test_our_authorities_are_built_like_theirs(shop: Workshop, theirs: Bundle, name: str) -> None:
    mine, real = shop.ours.authorities[name], theirs.authorities[name]
    assert anatomy(pki.read_certificate(mine.certificate)) == anatomy(pki.read_certificate(real.certificate))
    assert mine.key.reveal().splitlines()[0] == real.key.reveal().splitlines()[0]
    assert len(mine.key.reveal()) == len(real.key.reveal())


def test_keys_of_talosctl_are_written_again_byte_for_byte(theirs: Bundle) -> None:
    for key in (*(pair.key for pair in theirs.authorities.values()), theirs.k8s_service_account):
        assert pki.write_key(pki.read_key(key)) == key


def test_our_talosconfig_is_built_like_theirs(shop: Workshop) -> None:
    real_text = shop.gen_config("ours.yaml", "talosconfig")
    real = Talosconfig.from_mapping(yaml.safe_load(real_text))
    assert real.to_text().reveal() == real_text
    mine = new_talosconfig("home", shop.ours.os)
    assert mine.contexts["home"].ca == real.contexts["home"].ca
    certificates = [
        pki.read_certificate(base64.b64decode(config.contexts["home"].crt).decode()) for config in (mine, real)
    ]
    assert anatomy(certificates[0]) == anatomy(certificates[1])
    assert [line.split(":")[0] for line in mine.to_text().reveal().splitlines()] == [
        line.split(":")[0] for line in real_text.splitlines()
    ]


def test_talosctl_reads_our_talosconfig(shop: Workshop) -> None:
    now = datetime.now(UTC)
    config = new_talosconfig(
        "away",
        shop.ours.os,
        roles=["os:reader", "os:etcd:backup"],
        lifetime=timedelta(days=10),
        endpoints=["10.0.0.1", "cp.example"],
        nodes=["10.0.0.2"],
        now=now,
    )
    (shop.folder / "talosconfig").write_text(config.to_text().reveal())
    info = shop.run("config", "info", "--talosconfig", "talosconfig", "--output", "yaml")
    told = yaml.safe_load(info)
    assert told["context"] == "away"
    assert told["endpoints"] == ["10.0.0.1", "cp.example"]
    assert told["nodes"] == ["10.0.0.2"]
    assert sorted(told["roles"]) == ["os:etcd:backup", "os:reader"]
    assert (now + timedelta(days=10)).strftime("%Y-%m-%d") in info


def test_merging_gives_what_talosctl_merges(shop: Workshop) -> None:
    first = new_talosconfig("home", shop.ours.os, endpoints=["10.0.0.1"])
    second = new_talosconfig("home", shop.ours.os, endpoints=["10.0.0.2"], nodes=["10.0.0.3"])
    third = new_talosconfig("2nd home", shop.ours.os)
    merged = first
    (shop.folder / "merged").write_text(first.to_text().reveal())
    for other in (second, second, third):
        (shop.folder / "other").write_text(other.to_text().reveal())
        shop.run("config", "merge", "--talosconfig", "merged", "other")
        merged, _ = merged.merged_with(other)
        assert merged.to_text().reveal() == shop.text("merged")
    assert list(merged.contexts) == ["home", "home-1", "home-2", "2nd home"]
