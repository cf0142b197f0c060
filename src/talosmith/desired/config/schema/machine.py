"""The shape of the main document's machine section. See `notation`."""

from __future__ import annotations

TABLES: dict[str, str] = {
    "LegacyEncryption": """
provider   s  !
keys       [*].  !
    static  *.
        passphrase  s  $
    nodeID  *.
    kms     *.
        endpoint  s  !
    slot    int  !
    tpm     *.
        checkSecurebootStatusOnEnroll  b
cipher     s
keySize    uint
blockSize  uint
options    []s
""",
    "IdMapping": """
containerID  u32  !
hostID       u32  !
size         u32  !
""",
    "Kubelet": """
image                                s
clusterDNS                           []s
extraArgs                            args
extraMounts                          [].
    destination  s  !
    type         s
    source       s
    options      []s
    uidMappings  []@IdMapping
    gidMappings  []@IdMapping
extraConfig                          free
credentialProviderConfig             free
defaultRuntimeSeccompProfileEnabled  b
registerWithFQDN                     b
nodeIP                               *.
    validSubnets  []s
skipNodeRegistration                 b
disableManifestsDirectory            b
""",
    "Install": """
disk               s
diskSelector       *.
    size      *size-condition
    name      s
    model     s
    serial    s
    modalias  s
    uuid      s
    wwid      s
    type      s
    busPath   s
extraKernelArgs    []s
image              s
extensions         [].
    image  s  !
bootloader         b
wipe               b  !
legacyBIOSSupport  b
grubUseUKICmdline  b
""",
    "Features": """
rbac                      b
stableHostname            b
kubernetesTalosAPIAccess  *.
    enabled                      b
    allowedRoles                 []s
    allowedKubernetesNamespaces  []s
apidCheckExtKeyUsage      b
diskQuotaSupport          b
kubePrism                 *.
    enabled  b
    port     int
hostDNS                   *.
    enabled               b
    forwardKubeDNSToHost  b
    resolveMemberNames    b
imageCache                *.
    localEnabled  b
nodeAddressSortAlgorithm  s
""",
    "Machine": """
type                      s  !
token                     s  !  $
ca                        *@Pair
acceptedCAs               [*]@Certificate
certSANs                  []s  !
controlPlane              *.
    controllerManager  *.
        disabled  b
    scheduler          *.
        disabled  b
kubelet                   *@Kubelet
pods                      []free
network                   *.
    hostname             s
    interfaces           [*]@Interface  ~interface
    nameservers          []s
    searchDomains        []s
    extraHostEntries     [*].
        ip       s    !
        aliases  []s  !
    kubespan             *.
        enabled                      b
        advertiseKubernetesNetworks  b
        allowDownPeerBypass          b
        harvestExtraEndpoints        b
        mtu                          *u32
        filters                      *.
            endpoints                  []s
            excludeAdvertisedNetworks  []s
    disableSearchDomain  b
disks                     [*].
    device      s
    partitions  [*].
        size        disk-size
        mountpoint  s
install                   *@Install
files                     [*].
    content      s     !
    permissions  mode  !
    path         s     !
    op           s     !
env                       {}s
time                      *.
    disabled     b
    servers      []s
    bootTimeout  duration
sysctls                   {}s
sysfs                     {}s
registries                .
    mirrors  {*}.
        endpoints     []s  !
        overridePath  b
        skipFallback  b
    config   {*}.
        tls   *.
            clientIdentity      *@Pair
            ca                  base64
            insecureSkipVerify  b
        auth  *.
            username       s
            password       s  $
            auth           s  $
            identityToken  s  $
systemDiskEncryption      *.
    state      *@LegacyEncryption
    ephemeral  *@LegacyEncryption
features                  *@Features
udev                      *.
    rules  []s
logging                   *.
    destinations  [].  !
        endpoint   *url  !
        format     s     !
        extraTags  {}s
kernel                    *.
    modules  [*].
        name        s  !
        parameters  []s
seccompProfiles           [*].
    name   s     !
    value  free  !
baseRuntimeSpecOverrides  free
nodeLabels                {}s
nodeAnnotations           {}s
nodeTaints                {}s
""",
}
