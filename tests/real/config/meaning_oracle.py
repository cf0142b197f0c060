"""What Talos' own library reads out of configs, section by section in the form of `meaning`.

The library answers accessor by accessor. What Talos treats as equal further on is made equal here: empty and absent,
names that only tell resources apart, and authorizers that a controller adds.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ACCESSORS = {
    "kubelet": "K8sKubeletConfig",
    "credential_provider": "K8sCredentialProviderConfig",
    "node": "K8sNodeConfig",
    "cluster": "K8sClusterConfig",
    "network": "K8sNetworkConfig",
    "kubernetes_ca": "K8sAPIServerCAConfig",
    "aggregator_ca": "K8sAggregatorCAConfig",
    "kube_prism": "K8sKubePrismConfig",
    "static_pods": "K8sStaticPodConfigs",
    "inline_manifests": "K8sInlineManifestConfigs",
    "external_manifests": "K8sExternalManifestConfigs",
    "hostname": "NetworkHostnameConfig",
    "resolver": "NetworkResolverConfig",
    "host_dns": "NetworkHostDNSConfig",
    "time_sync": "NetworkTimeSyncConfig",
    "kubespan": "NetworkKubeSpanConfig",
    "static_hosts": "NetworkStaticHostConfig",
    "discovery": "DiscoveryServiceConfigs",
    "discovery_identity": "DiscoveryIdentityConfig",
    "sysctls": "SysctlConfig",
    "sysfs": "SysfsConfig",
    "kernel_modules": "KernelModuleConfigs",
    "udev_rules": "UdevRulesConfig",
    "cri_customization": "CRICustomizationConfigs",
    "cri_base_runtime_spec": "CRIBaseRuntimeSpecConfig",
    "image_cache": "ImageCacheConfig",
    "registry_mirrors": "RegistryMirrorConfigs",
    "registry_auth": "RegistryAuthConfigs",
    "registry_tls": "RegistryTLSConfigs",
    "api_server": "K8sAPIServerConfig",
    "authentication": "K8sAuthenticationConfig",
    "admission_control": "K8sAdmissionControlPluginConfigs",
    "audit_policy": "K8sAuditPolicyConfig",
    "controller_manager": "K8sControllerManagerConfig",
    "scheduler": "K8sSchedulerConfig",
    "core_dns": "K8sCoreDNSConfig",
    "flannel": "K8sFlannelCNIConfig",
    "service_account": "K8sServiceAccountConfig",
    "talos_api_access": "K8sTalosAPIAccessConfig",
}
_NAMELESS = ("external_manifests", "discovery", "cri_customization", "static_hosts")
# Objects answer with more than the interface that Talos reads them by: v1alpha1 often with its whole self.
_INTERFACES = {
    "network": ("DNSDomain", "NodeCIDRMaskSizeIPv4", "NodeCIDRMaskSizeIPv6", "PodCIDRs", "ServiceCIDRs"),
    "api_server": (
        "APIPort", "CertSANs", "Env", "ExtraArgs", "ExtraVolumes", "Image", "Resources", "StartupProbesEnabled",
        "UseAuthenticationConfig",
    ),
    "audit_policy": ("Configuration",),
    "kube_prism": ("Port", "TLSServerName"),
    "talos_api_access": ("AllowedRoles", "AllowedKubernetesNamespaces"),
    "hostname": ("Hostname", "AutoHostname"),
    "resolver": ("DisableSearchDomain", "Resolvers", "SearchDomains"),
    "host_dns": ("HostDNSEnabled", "ForwardKubeDNSToHost", "ResolveMemberNames"),
}  # fmt: skip
_NAMED_TWICE = ("registry_mirrors", "registry_auth", "registry_tls")


def read(oracle: Path, configs: Sequence[str]) -> list[dict[str, Any]]:
    """The sections of each config."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.yaml" for number in range(len(configs))]
        for file, text in zip(files, configs, strict=True):
            file.write_text(text)
        done = subprocess.run([oracle, "meaning", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    decoder, rest, found = json.JSONDecoder(), done.stdout.strip(), []
    while rest:
        answer, end = decoder.raw_decode(rest)
        found.append({name: _section(name, answer) for name in (*ACCESSORS, "authorizers")})
        rest = rest[end:].strip()
    return found


def _section(name: str, answer: dict[str, Any]) -> Any:
    if name == "authorizers":
        return _authorizers(answer)
    value = answer[ACCESSORS[name]]
    if name in _NAMELESS:
        value = [{key: inner for key, inner in one.items() if key != "Name"} for one in value or ()]
    if name in _INTERFACES and value is not None:
        value = {key: value[key] for key in _INTERFACES[name]}
    if name == "hostname" and value["Hostname"]:
        value["AutoHostname"] = "off"
    if name in _NAMED_TWICE:
        value = {host: {key: inner for key, inner in one.items() if key != "Name"} for host, one in value.items()}
    if name == "credential_provider" and value is None:
        value = {}
    if name == "kernel_modules":
        value = {one["Name"]: one["Parameters"] for one in value or ()}
    if name == "admission_control":
        value = {one["Name"]: one["Configuration"] for one in value or ()}
    return _pruned(value)


def _authorizers(answer: dict[str, Any]) -> Any:
    """With those that Talos' controller adds where the API server is v1alpha1's."""
    found = [_pruned(one) for one in answer["K8sAuthorizerConfigs"] or ()]
    if answer["K8sAPIServerConfig"]["InjectDefaultAuthorizers"]:
        for place, (kind, name) in enumerate((("Node", "node"), ("RBAC", "rbac"))):
            if kind not in [one["Type"] for one in found]:
                found.insert(place, {"Name": name, "Type": kind})
    return found


def _pruned(value: Any) -> Any:
    """Without what is empty: to Talos it is the same as absent."""
    if isinstance(value, dict):
        made = {key: _pruned(inner) for key, inner in value.items()}
        return {key: inner for key, inner in made.items() if inner not in (None, "", [], {}, False)}
    return [_pruned(item) for item in value] if isinstance(value, list) else value
