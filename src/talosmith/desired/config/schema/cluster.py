"""The shape of the main document's cluster section. See `notation`."""

from __future__ import annotations

TABLES: dict[str, str] = {
    "Resources": """
requests  free
limits    free
""",
    "VolumeMount": """
hostPath   s  !
mountPath  s  !
readonly   bool
""",
    "ApiServer": """
image                     s
extraArgs                 args
extraVolumes              []@VolumeMount
env                       {}s
certSANs                  []s
disablePodSecurityPolicy  b
admissionControl          [*].  ~name
    name           s     !
    configuration  free  !
auditPolicy               free  =
resources                 *@Resources
authorizationConfig       [*].
    type     s  !
    name     s  !
    webhook  free
""",
    "Cluster": """
id                              s
secret                          s  $
controlPlane                    *.
    endpoint            *url  !
    localAPIServerPort  int
clusterName                     s
network                         *.
    cni             *.
        name     s
        urls     []s
        flannel  *.
            extraArgs                   []s
            kubeNetworkPoliciesEnabled  b
    dnsDomain       s    !
    podSubnets      []s  !  =
    serviceSubnets  []s  !  =
token                           s  $
aescbcEncryptionSecret          s  $
secretboxEncryptionSecret       s  $
ca                              *@Pair
acceptedCAs                     [*]@Certificate
aggregatorCA                    *@Pair
serviceAccount                  *@Key
apiServer                       *@ApiServer
controllerManager               *.
    image         s
    extraArgs     args
    extraVolumes  []@VolumeMount
    env           {}s
    resources     *@Resources
proxy                           *.
    disabled   b
    image      s
    mode       s
    extraArgs  args
scheduler                       *.
    image         s
    extraArgs     args
    extraVolumes  []@VolumeMount
    env           {}s
    resources     *@Resources
    config        free
discovery                       *.
    enabled     b
    registries  .  !
        kubernetes  .  !
            disabled  b
        service     .  !
            disabled  b
            endpoint  s
etcd                            *.
    image              s
    ca                 *@Pair  !
    extraArgs          args
    subnet             s
    advertisedSubnets  []s
    listenSubnets      []s
coreDNS                         *.
    disabled  b
    image     s
externalCloudProvider           *.
    enabled    b
    manifests  []s
extraManifests                  []s
extraManifestHeaders            {}s
inlineManifests                 [].
    name      s  !
    contents  manifest  !
adminKubeconfig                 *.
    certLifetime  duration
allowSchedulingOnMasters        b
allowSchedulingOnControlPlanes  b
""",
}
