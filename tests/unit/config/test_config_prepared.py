"""Fresh configs, what their contracts change, and the engine that renders many of them."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.check.validate import validate
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.prepared import Prepared
from talosmith.desired.config.redact import redact, redact_pair
from talosmith.desired.config.schema.contracts import CONTRACTS, NEWEST, contract_for
from talosmith.errors import UsageError


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.generate()


def options(**settings: Any) -> Options:
    return Options("lab", "https://192.0.2.10:6443", "1.34.1", "installer:v1", **settings)


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=str)
@pytest.mark.parametrize("role", ["controlplane", "worker"])
def test_what_is_generated_is_valid_and_reads_back(role: Any, contract: Any, bundle: Bundle) -> None:
    mirrors = {"docker.io": ("https://m.example",)}
    documents = generate(role, options(contract=contract, kubespan=True, registry_mirrors=mirrors), bundle)
    assert validate(documents, "metal", strict=True) == validate(documents, "container", strict=True) == []
    assert emit(load(emit(documents))) == emit(documents)
    assert [*load(emit(documents))] == documents


def test_what_the_contracts_change(bundle: Bundle) -> None:
    old = generate("controlplane", options(contract=CONTRACTS[1, 11], kubespan=True), bundle)
    new = generate("controlplane", options(contract=CONTRACTS[1, 13], kubespan=True), bundle)
    assert [one.get("kind") for one in old] == [None]
    assert [one.get("kind") for one in new] == [None, "HostnameConfig", "KubeSpanConfig"]
    assert old[0]["machine"]["features"]["stableHostname"] is True
    assert old[0]["cluster"]["apiServer"]["certSANs"] == ["192.0.2.10"]
    assert "certSANs" not in new[0]["cluster"]["apiServer"]


def test_a_worker_knows_no_secrets_of_control_planes(bundle: Bundle) -> None:
    text = emit(generate("worker", options(), bundle))
    secrets = bundle.to_mapping()
    hidden = [pair["key"] for pair in secrets["certs"].values()]
    assert all(key not in text for key in [*hidden, secrets["secrets"]["secretboxencryptionsecret"]])


def test_more_than_flags(bundle: Bundle) -> None:
    (main, *_) = generate(
        "controlplane",
        options(
            contract=CONTRACTS[1, 13],
            cni={"name": "none"},
            kube_proxy=False,
            allow_scheduling_on_control_planes=True,
            pod_subnets=("10.0.0.0/9",),
        ),
        bundle,
    )
    cluster = main["cluster"]
    assert cluster["network"]["cni"] == {"name": "none"}
    assert cluster["network"]["podSubnets"] == ["10.0.0.0/9"]
    assert cluster["proxy"]["disabled"] is True
    assert cluster["allowSchedulingOnControlPlanes"] is True


@pytest.mark.parametrize("endpoint", ["http://a:6443", "192.0.2.1:6443", "https://", "https://a:99999"])
def test_the_endpoint_is_an_https_address(endpoint: str) -> None:
    with pytest.raises(UsageError, match="endpoint"):
        Options("lab", endpoint, "1.34.1", "installer:v1")


def test_contracts_by_version() -> None:
    assert contract_for("v1.9.3").version == (1, 9)
    assert contract_for("1.14.0-rc.1").version == NEWEST
    for wrong in ("v1.7.0", "latest", "1"):
        with pytest.raises(UsageError):
            contract_for(wrong)


PATCHES = (
    "{apiVersion: v1alpha1, kind: HostnameConfig, auto: 'off', hostname: '${node.name}'}",
    "{apiVersion: v1alpha1, kind: LinkConfig, name: eth0, addresses: [{address: '${node.address}/16'}]}",
    "machine: {nodeLabels: {node: '${node.name}'}, sysctls: {a: '1'}, install: {disk: /dev/vda}}",
)


def _render(prepared: Prepared, number: int) -> Any:
    def fill(text: str) -> str:
        return text.replace("${node.name}", f"n-{number}").replace(
            "${node.address}", f"10.0.{number // 250}.{number % 250}"
        )

    return prepared.render([load_patch(text, "patch.yaml", fill) for text in PATCHES])


def test_rendering_from_a_prepared_base_is_rendering(bundle: Bundle) -> None:
    documents = generate("controlplane", options(contract=CONTRACTS[1, 13]), bundle)
    everywhere = load_patch("cluster: {proxy: {disabled: true}}")
    prepared = Prepared(documents, [everywhere], mode="metal")
    for number in (1, 2):
        rendered = _render(prepared, number)
        own = [load_patch(text.replace("${node.name}", f"n-{number}").replace("${node.address}", f"10.0.0.{number}"))
               for text in PATCHES]  # fmt: skip
        plain = apply_patches(documents, [everywhere, *own])
        assert rendered.text == emit(plain)
        assert list(rendered.findings) == validate(plain, "metal") == rendered.errors == []
    broken = prepared.render([load_patch("machine: {type: nope, nodeTaints: {a: b}}")])
    assert [one.path for one in broken.errors] == [
        one.path for one in validate(broken.documents, "metal") if one.severity == "error"
    ] != []  # fmt: skip


def test_a_rendered_config_does_not_print_its_secrets(bundle: Bundle) -> None:
    rendered = Prepared(generate("controlplane", options(), bundle), mode="metal").render()
    assert bundle.cluster_secret.reveal() not in repr(rendered)


HIDDEN = """
---
{apiVersion: v1alpha1, kind: RegistryAuthConfig, name: r, username: u, password: hidden-1}
---
{apiVersion: v1alpha1, kind: WireguardConfig, name: w, privateKey: hidden-2, peers: [{presharedKey: hidden-3}]}
---
apiVersion: v1alpha1
kind: VolumeConfig
name: STATE
encryption: {provider: luks2, keys: [{static: {passphrase: hidden-4}}]}
"""


def test_redacted_documents_hold_no_secret_and_still_load(bundle: Bundle) -> None:
    documents = load(emit(generate("controlplane", options(), bundle)) + HIDDEN)
    text = emit(redact(documents))
    secrets = bundle.to_mapping()
    values = [*[pair["key"] for pair in secrets["certs"].values()], *secrets["secrets"].values()]
    values += [
        secrets["trustdinfo"]["token"],
        secrets["cluster"]["secret"],
        *(f"hidden-{number}" for number in range(1, 5)),
    ]
    assert [value for value in values if value in text] == []
    assert secrets["certs"]["os"]["crt"] in text
    assert emit(load(text)) == text


def test_two_redacted_configs_differ_where_their_secrets_do() -> None:
    one, other = (load(f"machine: {{token: {token}, ca: {{crt: YQ==, key: Yg==}}}}") for token in ("first", "second"))
    ours, theirs = redact_pair(one, other)
    assert ours[0]["machine"]["token"] != theirs[0]["machine"]["token"]
    assert ours[0]["machine"]["ca"] == theirs[0]["machine"]["ca"] == {"crt": "YQ==", "key": "******"}
    assert not {"first", "second", "Yg=="} & set(emit([*ours, *theirs]).split())
