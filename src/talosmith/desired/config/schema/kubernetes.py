"""The shape of the documents about Kubernetes, which Talos 1.14 has in the place of sections. See `notation`."""

from __future__ import annotations

SHARED: dict[str, str] = {
    "KeyPair": """
cert  s
key   s  $
""",
}

KINDS: dict[str, str] = {
    "KubeAPIServerCAConfig": """
issuingCA    *@KeyPair
acceptedCAs  []s
""",
    "KubeAPIServerConfig": """
image          s  !
extraArgs      args
env            {}s
resources      @Resources
apiPort        *int
certExtraSANs  []s
startupProbes  b
""",
    "KubeAdmissionControlConfig": """
name           s  !
configuration  free  !
""",
    "KubeAggregatorCAConfig": """
issuingCA    *@KeyPair
acceptedCAs  []s
""",
    "KubeAuditPolicyConfig": """
configuration  free  !  =
""",
    "KubeAuthenticationConfig": """
configuration  free  !  =
""",
    "KubeAuthorizerConfig": """
name     s  !
type     s  !
webhook  free
""",
    "KubeClusterConfig": """
clusterName  s  !
endpoint     url  !
""",
    "KubeControllerManagerConfig": """
enabled    b
image      s  !
extraArgs  args
env        {}s
resources  @Resources
""",
    "KubeCoreDNSConfig": """
enabled  b
image    s
""",
    "KubeCredentialProviderConfig": """
configuration  free  !  =
""",
    "KubeEtcdEncryptionConfig": """
config  free  !  $
""",
    "KubeExternalManifestConfig": """
name     s  !
headers  {}s
url      url  !
""",
    "KubeFlannelCNIConfig": """
backendType                 s  !
backendPort                 u16
backendMTU                  u32
backendExtraConfig          free
resources                   @Resources
extraArgs                   []s
kubeNetworkPoliciesEnabled  b
""",
    "KubeInlineManifestConfig": """
name      s  !
manifest  s  !
""",
    "KubeNetworkConfig": """
dnsDomain             s  !
podSubnets            []prefix  !  =
serviceSubnets        []prefix  !  =
nodeCIDRMaskSizeIPv4  int
nodeCIDRMaskSizeIPv6  int
""",
    "KubeNodeConfig": """
skipNodeRegistration  b
registerWithFQDN      b
nodeIP                .  !
    validSubnets  []s
labels                {}s
annotations           {}s
taints                {}s
""",
    "KubePrismConfig": """
port           int  !
tlsServerName  s
""",
    "KubeProxyConfig": """
enabled    b
image      s
mode       s
config     free  !
extraArgs  args
resources  @Resources
""",
    "KubeSchedulerConfig": """
enabled    b
image      s  !
config     free  !
extraArgs  args
env        {}s
resources  @Resources
""",
    "KubeServiceAccountConfig": """
issuer    .  !
    privateKey  s  !  $
    issuerURL   url  !
accepted  .
    publicKeys  []s
    issuers     []url
    audiences   []s
""",
    "KubeStaticPodConfig": """
name  s  !
pod   free  !  =
""",
    "KubeTalosAPIAccessConfig": """
allowedRoles                 []s
allowedKubernetesNamespaces  []s
""",
    "KubeletConfig": """
image                                s  !
config                               free  !
extraArgs                            args
clusterDNS                           []s
defaultRuntimeSeccompProfileEnabled  b
""",
}
