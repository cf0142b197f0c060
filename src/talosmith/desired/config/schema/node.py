"""The shape of the documents about a node's volumes, registries and services. See `notation`."""

from __future__ import annotations

SHARED: dict[str, str] = {
    "Provisioning": """
diskSelector  .
    match  cel
grow          b
minSize       size
maxSize       size-or-share
""",
    "Encryption": """
provider   encryption  !
keys       [].  !
    slot         int  !
    static       *.
        passphrase  s  $
    nodeID       *.
    kms          *.
        endpoint  s  !
    tpm          *.
        options                        *.
            pcrs  []int
        checkSecurebootStatusOnEnroll  b
    lockToState  b
cipher     s
keySize    uint
blockSize  uint
options    []s
allowDiscards  b
""",
    "Care": """
trim   *.
    enabled   b
    interval  duration
scrub  *.
    enabled   b
    interval  duration
""",
    "Xfs": """
minAllocationGroupSize  size
""",
}

KINDS: dict[str, str] = {
    "VolumeConfig": """
name          s  !
provisioning  @Provisioning
filesystem    .
    xfs  *@Xfs
encryption    @Encryption
mount         .
    secure             b
    disableAccessTime  b
<Care
""",
    "UserVolumeConfig": """
name          s  !
volumeType    *volume-type
provisioning  @Provisioning
filesystem    .
    type                 filesystem
    projectQuotaSupport  b
    xfs                  *@Xfs
encryption    @Encryption
mount         .
    disableAccessTime  b
    secure             b
<Care
""",
    "RawVolumeConfig": """
name          s  !
provisioning  @Provisioning
encryption    @Encryption
""",
    "SwapVolumeConfig": """
name          s  !
provisioning  @Provisioning
encryption    @Encryption
""",
    "ExistingVolumeConfig": """
name       s  !
discovery  .
    volumeSelector  .
        match  cel
mount      .
    readOnly           b
    disableAccessTime  b
    secure             b
<Care
""",
    "ExternalVolumeConfig": """
name            s  !
filesystemType  filesystem  !
mount           .
    readOnly           b
    disableAccessTime  b
    secure             b
    virtiofs           *.
        tag  s  !
""",
    "ZswapConfig": """
maxPoolPercent   *int
shrinkerEnabled  b
""",
    "RegistryMirrorConfig": """
name          s  !
endpoints     [].
    url           url  !
    overridePath  b
skipFallback  b
""",
    "RegistryAuthConfig": """
name           s  !
username       s
password       s  $
auth           s  $
identityToken  s  $
""",
    "RegistryTLSConfig": """
name                s  !
clientIdentity      *.
    cert  s
    key   s  $
ca                  s
insecureSkipVerify  b
""",
    "ImageVerificationConfig": """
rules  [].  ~~image
    image      s
    skip       b
    deny       b
    keyless    *.
        issuer        s
        subject       s
        subjectRegex  s
    publicKey  *.
        certificate  s
""",
    "ExtensionServiceConfig": """
name         s  !
configFiles  [].  ~mountPath
    content    s  !
    mountPath  s  !
environment  []s
""",
    "SideroLinkConfig": """
apiUrl       url  !  $
uniqueToken  s  $
""",
    "WatchdogTimerConfig": """
device   s  !
timeout  duration
""",
    "KmsgLogConfig": """
name  s    !
url   url  !
""",
    "EventSinkConfig": """
endpoint  s  !
""",
    "TrustedRootsConfig": """
name          s  !
certificates  s  !
""",
    "PCIDriverRebindConfig": """
name          s  !
targetDriver  s  !
""",
    "OOMConfig": """
triggerExpression          cel
cgroupRankingExpression    cel
strictCgroupClassOrdering  b
sampleInterval             duration
""",
    "EnvironmentConfig": """
variables  {}s  !
""",
}
