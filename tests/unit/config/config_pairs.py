"""The same setting in both forms: v1alpha1 fields of a control plane, and the documents of Talos 1.14 for them.

Each pair is laid over configs that say nothing else of it. `machine` and `cluster` are the two sections' content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml


@dataclass(frozen=True)
class Pair:
    name: str
    section: str  # the section of the meaning that it is about
    machine: dict[str, Any] = field(default_factory=dict)
    cluster: dict[str, Any] = field(default_factory=dict)
    documents: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.name


def _pair(name: str, section: str, text: str) -> Pair:
    old, *new = yaml.safe_load_all(text)
    documents = tuple({"apiVersion": "v1alpha1", **one} for one in new)
    return Pair(name, section, old.get("machine") or {}, old.get("cluster") or {}, documents)


# What Talos does without being told.
DEFAULTS = ("the default audit policy is written out", "Node and RBAC are added to a v1alpha1 API server")
CONTROLPLANE = "node-role.kubernetes.io/control-plane"
_NODE = "---\n{kind: KubeAuthorizerConfig, name: node, type: Node}\n"
_RBAC = "---\n{kind: KubeAuthorizerConfig, name: rbac, type: RBAC}\n"
_API = "---\n{kind: KubeAPIServerConfig, image: 'a:v1.37.1', startupProbes: false}\n"

PAIRS = (
    _pair("kubelet", "kubelet", """
machine: {kubelet: {image: "k:v1.37.1", extraArgs: {v: "4"}, extraConfig: {maxPods: 9}, clusterDNS: [10.0.0.9],
  defaultRuntimeSeccompProfileEnabled: true, disableManifestsDirectory: true}}
---
{kind: KubeletConfig, image: "k:v1.37.1", extraArgs: {v: ["4"]}, config: {maxPods: 9}, clusterDNS: [10.0.0.9],
  defaultRuntimeSeccompProfileEnabled: true}
"""),
    _pair("credential provider", "credential_provider", """
machine: {kubelet: {image: "k:v1.37.1", credentialProviderConfig: {providers: [a]}}}
---
{kind: KubeCredentialProviderConfig, configuration: {providers: [a]}}
"""),
    _pair("labels and taints of control planes are listed", "node", f"""
machine: {{nodeLabels: {{a/b: c}}, nodeAnnotations: {{d: e}}, kubelet: {{registerWithFQDN: true,
  nodeIP: {{validSubnets: [10.0.0.0/8]}}}}}}
---
{{kind: KubeNodeConfig, labels: {{a/b: c, {CONTROLPLANE}: ""}}, annotations: {{d: e}}, registerWithFQDN: true,
  nodeIP: {{validSubnets: [10.0.0.0/8]}}, taints: {{{CONTROLPLANE}: NoSchedule}}}}
"""),
    _pair("scheduling on control planes", "node", f"""
cluster: {{allowSchedulingOnControlPlanes: true}}
---
{{kind: KubeNodeConfig, labels: {{{CONTROLPLANE}: ""}}}}
"""),
    _pair("cluster", "cluster", """
cluster: {clusterName: c, controlPlane: {endpoint: "https://192.0.2.1:6443"}}
---
{kind: KubeClusterConfig, clusterName: c, endpoint: "https://192.0.2.1:6443"}
"""),
    _pair("network", "network", """
cluster: {network: {podSubnets: [10.1.0.0/16], serviceSubnets: [10.2.0.0/16], cni: {name: none}}}
---
{kind: KubeNetworkConfig, podSubnets: [10.1.0.0/16], serviceSubnets: [10.2.0.0/16]}
"""),
    _pair("flannel", "flannel", """
cluster: {network: {cni: {name: flannel, flannel: {extraArgs: [--iface=eth0], kubeNetworkPoliciesEnabled: true}}}}
---
{kind: KubeFlannelCNIConfig, backendType: vxlan, backendPort: 4789, extraArgs: [--iface=eth0],
  kubeNetworkPoliciesEnabled: true}
"""),
    _pair("admission control", "admission_control", """
cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {a: b}}]}}
---
{kind: KubeAdmissionControlConfig, name: PodSecurity, configuration: {a: b}}
"""),
    _pair("the default audit policy is written out", "audit_policy", """
cluster: {}
---
{kind: KubeAuditPolicyConfig, configuration: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}}
"""),
    _pair("audit policy", "audit_policy", """
cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}}}
---
{kind: KubeAuditPolicyConfig, configuration: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}}
"""),
    _pair("Node and RBAC are added to a v1alpha1 API server", "authorizers", f"""
cluster: {{apiServer: {{image: "a:v1.37.1"}}}}
{_API}{_NODE}{_RBAC}"""),
    _pair("a webhook comes after Node and RBAC", "authorizers", f"""
cluster: {{apiServer: {{authorizationConfig: [{{type: Webhook, name: w, webhook: {{a: b}}}}]}}}}
{_API}{_NODE}{_RBAC}---
{{kind: KubeAuthorizerConfig, name: w, type: Webhook, webhook: {{a: b}}}}
"""),
    _pair("controller manager", "controller_manager", """
machine: {controlPlane: {controllerManager: {disabled: true}}}
cluster: {controllerManager: {image: "m:v1.37.1", extraArgs: {a: b}, env: {X: y}, resources: {requests: {cpu: 1}}}}
---
{kind: KubeControllerManagerConfig, enabled: false, image: "m:v1.37.1", extraArgs: {a: b}, env: {X: y},
  resources: {requests: {cpu: "1"}}}
"""),
    _pair("scheduler", "scheduler", """
cluster: {scheduler: {image: "s:v1.37.1", config: {profiles: []}}}
---
{kind: KubeSchedulerConfig, image: "s:v1.37.1", config: {profiles: []}}
"""),
    _pair("CoreDNS", "core_dns", """
cluster: {coreDNS: {disabled: true}}
---
{kind: KubeCoreDNSConfig, enabled: false}
"""),
    _pair("KubePrism", "kube_prism", """
machine: {features: {kubePrism: {enabled: true}}}
---
{kind: KubePrismConfig, port: 7445}
"""),
    _pair("Talos API access", "talos_api_access", """
machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: ["os:reader"],
  allowedKubernetesNamespaces: [a]}}}
---
{kind: KubeTalosAPIAccessConfig, allowedRoles: ["os:reader"], allowedKubernetesNamespaces: [a]}
"""),
    _pair("inline manifests", "inline_manifests", """
cluster: {inlineManifests: [{name: n, contents: "a: b"}]}
---
{kind: KubeInlineManifestConfig, name: n, manifest: "a: b"}
"""),
    _pair("external manifests", "external_manifests", """
cluster: {extraManifests: ["https://example.org/a.yaml"], extraManifestHeaders: {X: y}}
---
{kind: KubeExternalManifestConfig, name: a, url: "https://example.org/a.yaml", headers: {X: y}}
"""),
    _pair("static pods", "static_pods", """
machine: {pods: [{metadata: {name: p, namespace: n}}]}
---
{kind: KubeStaticPodConfig, name: n-p, pod: {metadata: {name: p, namespace: n}}}
"""),
    _pair("hostname", "hostname", """
machine: {network: {hostname: h}}
---
{kind: HostnameConfig, hostname: h, auto: "off"}
"""),
    _pair("resolvers", "resolver", """
machine: {network: {nameservers: [1.1.1.1], searchDomains: [a.example], disableSearchDomain: true}}
---
{kind: ResolverConfig, nameservers: [{address: 1.1.1.1}], searchDomains: {domains: [a.example], disableDefault: true}}
"""),
    _pair("host DNS", "host_dns", """
machine: {features: {hostDNS: {enabled: true, forwardKubeDNSToHost: true}}}
---
{kind: ResolverConfig, hostDNS: {enabled: true, forwardKubeDNSToHost: true}}
"""),
    _pair("time", "time_sync", """
machine: {time: {disabled: true, servers: [a], bootTimeout: 2m0s}}
---
{kind: TimeSyncConfig, enabled: false, ntp: {servers: [a]}, bootTimeout: 2m0s}
"""),
    _pair("KubeSpan", "kubespan", """
machine: {network: {kubespan: {enabled: true, filters: {endpoints: [0.0.0.0/0]}}}}
---
{kind: KubeSpanConfig, enabled: true, mtu: 1420, filters: {endpoints: [0.0.0.0/0]}}
"""),
    _pair("static hosts", "static_hosts", """
machine: {network: {extraHostEntries: [{ip: 192.0.2.7, aliases: [a, b]}]}}
---
{kind: StaticHostConfig, name: 192.0.2.7, hostnames: [a, b]}
"""),
    _pair("discovery", "discovery", """
cluster: {discovery: {enabled: true, registries: {kubernetes: {disabled: true}, service: {}}}}
---
{kind: DiscoveryServiceConfig, name: x, endpoint: "https://discovery.talos.dev/"}
"""),
    _pair("cluster identity", "discovery_identity", """
cluster: {id: i, secret: c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=}
---
{kind: DiscoveryIdentityConfig, clusterID: i, clusterSecret: c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=}
"""),
    _pair("sysctls", "sysctls", """
machine: {sysctls: {a.b: "1"}}
---
{kind: SysctlConfig, params: {a.b: "1"}}
"""),
    _pair("sysfs", "sysfs", """
machine: {sysfs: {a.b: "1"}}
---
{kind: SysfsConfig, params: {a.b: "1"}}
"""),
    _pair("kernel modules", "kernel_modules", """
machine: {kernel: {modules: [{name: m, parameters: [a=b]}]}}
---
{kind: KernelModuleConfig, name: m, parameters: [a=b]}
"""),
    _pair("udev rules", "udev_rules", """
machine: {udev: {rules: [r]}}
---
{kind: UdevRulesConfig, rules: [r]}
"""),
    _pair("containerd's customization", "cri_customization", """
machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 420, content: "[plugins]"}]}
---
{kind: CRICustomizationConfig, name: any, content: "[plugins]"}
"""),
    _pair("base runtime spec", "cri_base_runtime_spec", """
machine: {baseRuntimeSpecOverrides: {process: {noNewPrivileges: true}}}
---
{kind: CRIBaseRuntimeSpecConfig, overrides: {process: {noNewPrivileges: true}}}
"""),
    _pair("image cache", "image_cache", """
machine: {features: {imageCache: {localEnabled: true}}}
---
{kind: ImageCacheConfig, local: {enabled: true}}
"""),
    _pair("registry mirrors", "registry_mirrors", """
machine: {registries: {mirrors: {a.example: {endpoints: ["https://b.example"], overridePath: true}}}}
---
{kind: RegistryMirrorConfig, name: a.example, endpoints: [{url: "https://b.example", overridePath: true}]}
"""),
    _pair("registry credentials", "registry_auth", """
machine: {registries: {config: {a.example: {auth: {username: u, password: p}}}}}
---
{kind: RegistryAuthConfig, name: a.example, username: u, password: p}
"""),
    _pair("registry TLS", "registry_tls", """
machine: {registries: {config: {a.example: {tls: {insecureSkipVerify: true}}}}}
---
{kind: RegistryTLSConfig, name: a.example, insecureSkipVerify: true}
"""),
)  # fmt: skip

# Without an accessor that reads both forms: the sequencer and templates of Talos read each by itself.
UNREAD_PAIRS = (
    _pair("install disk", "install", """
machine: {install: {disk: /dev/sda, image: i, grubUseUKICmdline: true}}
---
{kind: UnattendedInstallConfig, installer: {image: i}, provisioning: {wipe: false,
  diskSelector: {match: 'disk.dev_path == "/dev/sda"'}}}
"""),
    _pair("a link to the install disk", "install", """
machine: {install: {disk: /dev/disk/by-id/x, image: i, wipe: true, grubUseUKICmdline: true}}
---
{kind: UnattendedInstallConfig, installer: {image: i}, provisioning: {diskSelector:
  {match: '"/dev/disk/by-id/x" in disk.symlinks'}}}
"""),
    _pair("encryption of secrets keeps its key names", "etcd_encryption", """
cluster: {secretboxEncryptionSecret: s, aescbcEncryptionSecret: t}
---
{kind: KubeEtcdEncryptionConfig, config: {resources: [{resources: [secrets], providers: [
  {secretbox: {keys: [{name: key2, secret: s}]}}, {aescbc: {keys: [{name: key1, secret: t}]}}, {identity: {}}]}]}}
"""),
    _pair("environment variables", "environment", """
machine: {env: {A: b}}
---
{kind: EnvironmentConfig, variables: {A: b}}
"""),
    _pair("a file below /etc", "etc_files", """
machine: {files: [{path: /etc/nfsmount.conf, op: overwrite, permissions: 420, content: c}]}
---
{kind: EtcFileConfig, name: nfsmount.conf, mode: 420, contents: c}
"""),
    _pair("encryption of volumes", "volumes", """
machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, tpm: {}}]}}}
---
{kind: VolumeConfig, name: STATE, encryption: {provider: luks2, keys: [{slot: 0, tpm: {options: {pcrs: [7]}}}]}}
"""),
    _pair("OIDC flags are an authenticator", "authentication", """
cluster: {apiServer: {extraArgs: {oidc-issuer-url: "https://i.example", oidc-client-id: kubernetes,
  oidc-groups-claim: groups, oidc-groups-prefix: "oidc:", oidc-required-claim: a=b}}}
---
{kind: KubeAuthenticationConfig, configuration: {jwt: [{issuer: {url: "https://i.example", audiences: [kubernetes]},
  claimMappings: {username: {claim: sub, prefix: "https://i.example#"}, groups: {claim: groups, prefix: "oidc:"}},
  claimValidationRules: [{claim: a, requiredValue: b}]}]}}
"""),
    _pair("kube-proxy's flags are fields of its file", "proxy", """
cluster: {proxy: {image: "p:v1.37.1", mode: nftables,
  extraArgs: {metrics-bind-address: "0.0.0.0:10249", ipvs-strict-arp: "true"}}}
---
{kind: KubeProxyConfig, image: "p:v1.37.1", config: {metricsBindAddress: "0.0.0.0:10249", ipvs: {strictARP: true}}}
"""),
)  # fmt: skip
