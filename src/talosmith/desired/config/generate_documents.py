"""What stands beside the main document of a fresh config: nearly everything from Talos 1.14 on, little before it.

The order is that of `talosctl gen config`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from talosmith.desired.config.defaults import (
    AUDIT_POLICY,
    AUTHENTICATION,
    CONTROL_PLANE_ROLE,
    KUBE_PRISM_PORT,
    NOT_BEHIND_LOAD_BALANCERS,
    POD_SECURITY,
    component_image,
    kubelet_image,
)
from talosmith.desired.config.schema.documents import API_VERSION
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.desired.pki import from_base64

if TYPE_CHECKING:
    from talosmith.desired.config.generate import Options

DISCOVERY_SERVICE = "https://discovery.talos.dev/"
CUSTOM_CNI = "custom-cni"

Fields = Mapping[str, Any]


def documents(options: Options, secrets: Fields, *, controlplane: bool) -> list[Fields]:
    """In their order, without the main one."""
    contract = options.contract
    split = contract.kubernetes_as_documents
    return [
        *(_cluster(options, secrets) if split else ()),
        *(_mirrors(options) if contract.mirrors_as_documents else ()),
        *contract.documents,
        *([_document("KubeSpanConfig", enabled=True)] if options.kubespan and contract.kubespan_as_document else ()),
        *(_every_node(options, secrets, controlplane=controlplane) if split else ()),
        *(_control_plane(options, secrets) if split and controlplane else ()),
    ]


def _cluster(options: Options, secrets: Fields) -> Iterator[Fields]:
    """Discovery, installation, and what Talos 1.14 turns on by itself."""
    if options.discovery:
        yield _document("DiscoveryServiceConfig", name="default", endpoint=DISCOVERY_SERVICE)
    identity = secrets["cluster"]
    yield _document("DiscoveryIdentityConfig", clusterID=identity["id"], clusterSecret=identity["secret"])
    if options.install_disk:
        yield install_document(options.install_image, device_expression(options.install_disk))
    yield _document("ResolverConfig", hostDNS={"enabled": True, "forwardKubeDNSToHost": True})
    yield _document("VolumeConfig", name="EPHEMERAL", mount={"secure": True})
    yield _document("FilesystemTrimConfig", interval="168h0m0s")
    yield _document("SecurityProfileConfig", workloadIsolation=True)


def install_document(image: str, expression: str) -> Fields:
    """Installation on the disk that the expression of Talos' own language names."""
    return _document(
        "UnattendedInstallConfig",
        installer={"image": image},
        provisioning={"diskSelector": {"match": expression}, "wipe": False},
    )


def device_expression(device: str) -> str:
    quoted = device.replace("\\", "\\\\").replace('"', '\\"')
    return f'disk.dev_path == "{quoted}"'


def _mirrors(options: Options) -> Iterator[Fields]:
    for host, urls in sorted(options.registry_mirrors.items()):
        yield _document("RegistryMirrorConfig", name=host, endpoints=[{"url": str(parse_url(url))} for url in urls])


def _every_node(options: Options, secrets: Fields, *, controlplane: bool) -> Iterator[Fields]:
    yield _document("KubeClusterConfig", clusterName=options.cluster_name, endpoint=_endpoint(options))
    node: dict[str, Any] = {}
    if controlplane:
        node["labels"] = {CONTROL_PLANE_ROLE: "", NOT_BEHIND_LOAD_BALANCERS: ""}
        if not options.allow_scheduling_on_control_planes:
            node["taints"] = {CONTROL_PLANE_ROLE: "NoSchedule"}
    yield _document("KubeNodeConfig", **node)
    yield _document(
        "KubeletConfig", image=kubelet_image(options.kubernetes_version), defaultRuntimeSeccompProfileEnabled=True
    )
    yield _document(
        "KubeNetworkConfig",
        dnsDomain=options.dns_domain,
        podSubnets=list(options.pod_subnets),
        serviceSubnets=list(options.service_subnets),
    )
    authority = _pem(secrets["certs"]["k8s"])
    given = {"issuingCA": authority} if controlplane else {"acceptedCAs": [authority["cert"]]}
    yield _document("KubeAPIServerCAConfig", **given)
    if options.kube_prism:
        yield _document("KubePrismConfig", port=KUBE_PRISM_PORT)


def _control_plane(options: Options, secrets: Fields) -> Iterator[Fields]:
    version, certs = options.kubernetes_version, secrets["certs"]
    yield _document("KubeAggregatorCAConfig", issuingCA=_pem(certs["k8saggregator"]))
    yield _document("KubeAdmissionControlConfig", **POD_SECURITY)
    yield _document("KubeAuditPolicyConfig", configuration=AUDIT_POLICY)
    yield _document("KubeAuthenticationConfig", configuration=AUTHENTICATION)
    yield _document("KubeAuthorizerConfig", name="node", type="Node")
    yield _document("KubeAuthorizerConfig", name="rbac", type="RBAC")
    resources = {"providers": list(_providers(secrets["secrets"])), "resources": ["secrets"]}
    yield _document("KubeEtcdEncryptionConfig", config={"resources": [resources]})
    key = from_base64(certs["k8sserviceaccount"]["key"])
    yield _document("KubeServiceAccountConfig", issuer={"privateKey": key, "issuerURL": _endpoint(options)})
    sans = list(options.additional_sans)
    yield _document("KubeAPIServerConfig", image=component_image("kube-apiserver", version), certExtraSANs=sans)
    yield _document("KubeControllerManagerConfig", image=component_image("kube-controller-manager", version))
    yield _document("KubeSchedulerConfig", image=component_image("kube-scheduler", version))
    proxy: Fields = {} if options.kube_proxy else {"enabled": False}
    yield _document("KubeProxyConfig", **proxy, image=component_image("kube-proxy", version))
    if options.cni is None:
        yield _document("KubeFlannelCNIConfig", backendType="vxlan", backendPort=4789)
    yield _document("KubeCoreDNSConfig", enabled=True)
    for number, url in enumerate((options.cni or {}).get("urls") or (), 1):
        name = CUSTOM_CNI if number == 1 else f"{CUSTOM_CNI}-{number}"
        yield _document("KubeExternalManifestConfig", name=name, url=str(parse_url(url)))


def _providers(secrets: Fields) -> Iterator[Fields]:
    """Under the names that Talos has always given them: data in etcd is found by them.

    talosctl 1.14.1 writes the older kind of secret as `secretbox`, too, with which nothing of such a cluster could be
    decrypted; Talos itself makes `aescbc` of it in the main document's form.
    """
    for provider, name, key in (
        ("secretbox", "key2", "secretboxencryptionsecret"),
        ("aescbc", "key1", "aescbcencryptionsecret"),
    ):
        if secrets.get(key):
            yield {provider: {"keys": [{"name": name, "secret": secrets[key]}]}}


def _endpoint(options: Options) -> str:
    return str(parse_url(options.endpoint))


def _pem(pair: Mapping[str, str]) -> dict[str, str]:
    """As text: only the main document has it in base64."""
    return {"cert": from_base64(pair["crt"]), "key": from_base64(pair["key"])}


def _document(kind: str, **fields: Any) -> Fields:
    return {"apiVersion": API_VERSION, "kind": kind, **fields}
