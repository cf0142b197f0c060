"""The shape of the documents about installation, the kernel, containers and discovery. See `notation`."""

from __future__ import annotations

KINDS: dict[str, str] = {
    "CRIBaseRuntimeSpecConfig": """
overrides  free  =
""",
    "CRICustomizationConfig": """
name     s  !
content  s  !
""",
    "ContainerConfig": """
name         s  !
image        s  !
entrypoint   []s
args         []s
workingDir   s
runAs        *.
    uid  *i32
    gid  *i32
environment  []s
mounts       [].
    userVolume  *.
        name         s  !
        destination  s  !
        options      []s
    tmpfs       *.
        destination  s  !
        size         s
        options      []s
    hostPath    *.
        source       s  !
        destination  s  !
        options      []s
security     *.
    profile         s
    capabilities    *.
        add   []s
        drop  []s
    machinedAccess  bool
network      *.
    mode  s
resources    *.
    limits  *.
        cpu     s
        memory  s
dependsOn    *.
    paths       []s
    networks    []s
    time        b
    containers  []s
""",
    "DiscoveryIdentityConfig": """
clusterID      s  !
clusterSecret  s  !  $
""",
    "DiscoveryServiceConfig": """
name      s  !
endpoint  url  !
""",
    "EtcFileConfig": """
name      s  !
mode      mode  !
contents  s  !
""",
    "ImageCacheConfig": """
local  .  !
    enabled  b
""",
    "KernelModuleConfig": """
name        s  !
parameters  []s
""",
    "SecurityProfileConfig": """
workloadIsolation  b
""",
    "SysctlConfig": """
params  {}s  !
""",
    "SysfsConfig": """
params  {}s  !
""",
    "UdevRulesConfig": """
rules  []s
""",
    "UnattendedInstallConfig": """
reboot        b
installer     .  !
    image  s
provisioning  .  !
    diskSelector  .
        match  cel
    wipe          b
""",
}
