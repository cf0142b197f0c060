"""A control plane's config holds every secret, in the form of each Talos."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.schema.contracts import CONTRACTS
from talosmith.desired.machine.check import stand_in_bundle
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.generate()


def _documents(bundle: Bundle, contract: tuple[int, int]) -> list[dict[str, object]]:
    options = Options("c", "https://192.0.2.1:6443", "1.37.1", "installer:v1", CONTRACTS[contract])
    return list(yaml.safe_load_all(emit(generate("controlplane", options, bundle))))


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_all_secrets_come_back(bundle: Bundle, contract: tuple[int, int]) -> None:
    assert Bundle.from_machine_config(_documents(bundle, contract)) == bundle


def test_the_older_kind_of_encryption_secret_comes_back(bundle: Bundle) -> None:
    older = dataclasses.replace(
        bundle,
        secretbox_encryption_secret=None,
        aescbc_encryption_secret=Secret("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    )
    documents = _documents(older, (1, 14))
    encryption = next(one for one in documents if one.get("kind") == "KubeEtcdEncryptionConfig")
    assert "aescbc" in str(encryption)  # as secretbox, nothing in etcd could be decrypted
    assert Bundle.from_machine_config(documents) == older


def test_a_missing_document_is_named() -> None:
    documents = [one for one in _documents(stand_in_bundle(), (1, 14)) if one.get("kind") != "KubeAggregatorCAConfig"]
    with pytest.raises(SecretsError, match=r"cluster\.aggregatorCA"):
        Bundle.from_machine_config(documents)
