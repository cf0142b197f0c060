"""Which settings a running node takes only with a reboot, as data: by version of Talos, each with its reason.

Two tables. Up to 1.13 the node itself refuses some changes in the mode `no-reboot` (`AT_ONCE` has what it accepts).
From 1.14 on it accepts all of them, and some have no effect until it boots (`RULES`). The rules were read from the
controllers and services of Talos 1.13.9 and 1.14.1 and from its documentation; what is in no table takes effect at
once. Install settings are in none: they take effect with the next installation, and a reboot changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Line = tuple[int, int]
ALWAYS: Line = (0, 0)
NEVER: Line = (99, 0)
FREE: Line = (1, 14)  # the first line that accepts every change without a reboot

# Sections of the v1alpha1 document, by the first line of Talos that accepts a change of them in the mode `no-reboot`.
AT_ONCE: Mapping[str, Mapping[str, Line]] = {
    "": dict.fromkeys(("debug", "cluster"), ALWAYS),
    "machine": {
        **dict.fromkeys(
            (
                "ca", "acceptedCAs", "certSANs", "controlPlane", "install", "kernel", "kubelet", "logging", "network",
                "nodeLabels", "nodeTaints", "pods", "registries", "seccompProfiles", "sysctls", "sysfs", "time",
            ),
            ALWAYS,
        ),
        "nodeAnnotations": (1, 8),
    },
    "machine.features": {
        **dict.fromkeys(("kubernetesTalosAPIAccess", "kubePrism", "hostDNS"), ALWAYS),
        "imageCache": (1, 9),
        "nodeAddressSortAlgorithm": (1, 10),
    },
}  # fmt: skip

# `any`: added, changed or removed. `existing`: changed while it stays. `kept`: changed or removed, not added.
Counts = Literal["any", "existing", "kept"]


@dataclass(frozen=True, slots=True)
class Place:
    """A setting in a config: a field of one kind of document.

    `each`: the place has several settings, compared one by one: items of a list by this key, or, for `*`, the keys of
    a mapping. `name` is what a setting is called that another form of the config has under that name.
    """

    kind: str  # of the document; empty: the v1alpha1 document
    path: str = ""  # empty: the whole document
    each: str = ""
    field: str = ""  # of each item
    name: str = ""
    default: Any = None


@dataclass(frozen=True, slots=True)
class RebootRule:
    places: tuple[Place, ...]  # forms of one setting; moving it from one to another is no change
    reason: str
    counts: Counts = "any"
    since: Line = ALWAYS
    until: Line = NEVER  # the first line that takes it at once
    controlplane: bool = False  # workers do not use it
    but: tuple[str, ...] = ()  # of `each`, those that a node takes at once


_MODULE = "a loaded kernel module is not unloaded, and its parameters are read when it is loaded"
_SYSTEM_VOLUME = "volumes are unlocked, grown and mounted at boot"
_VOLUME = "an existing volume is unlocked, grown and mounted at boot"
_CRI_PART = "/etc/cri/conf.d/20-customization.part"


def _volume_rules() -> tuple[RebootRule, ...]:
    fields: Mapping[str, Mapping[str, Any]] = {  # with their defaults
        "UserVolumeConfig": {
            "volumeType": "partition", "provisioning.grow": None, "provisioning.maxSize": None, "encryption": None,
            "filesystem.projectQuotaSupport": False, "mount.secure": True, "mount.disableAccessTime": False,
        },
        "RawVolumeConfig": {"provisioning.grow": None, "provisioning.maxSize": None, "encryption": None},
        "SwapVolumeConfig": {"provisioning.grow": None, "provisioning.maxSize": None, "encryption": None},
        "ExistingVolumeConfig": {
            "discovery": None, "mount.readOnly": False, "mount.disableAccessTime": False, "mount.secure": True,
        },
        "ExternalVolumeConfig": {"filesystemType": None, "mount": None},
    }  # fmt: skip
    return tuple(
        RebootRule((Place(kind, path, default=default),), _VOLUME, "existing")
        for kind, paths in fields.items()
        for path, default in paths.items()
    )


RULES: tuple[RebootRule, ...] = (
    RebootRule((Place("", "machine.type"),), "services of the role (etcd, trustd) are started at boot", since=FREE),
    RebootRule((Place("", "machine.disks"),), "disks are partitioned and mounted at boot", since=FREE),
    RebootRule((Place("", "machine.files", each="path"),), "files are written at boot", since=FREE, but=(_CRI_PART,)),
    RebootRule(
        (Place("", "machine.features.diskQuotaSupport", default=False),),
        "quotas are an option of the mount of EPHEMERAL, which is mounted at boot",
        since=FREE,
    ),
    RebootRule(
        (Place("", "cluster.etcd"),),
        "etcd reads its settings when it starts, and Talos does not restart it",
        controlplane=True,
    ),
    RebootRule(
        (Place("", "machine.env", each="*"), Place("EnvironmentConfig", "variables", each="*")),
        "running services keep the environment they were started with",
    ),
    RebootRule(
        (
            Place("", "machine.kernel.modules", each="name", field="parameters"),
            Place("KernelModuleConfig", "parameters"),
        ),
        _MODULE,
        "kept",
    ),
    RebootRule(
        (Place("TrustedRootsConfig", "certificates"),), "containerd reads trusted certificates when it starts"
    ),
    RebootRule(
        (
            Place("", "machine.registries.config", each="*", field="auth"),
            Place("RegistryAuthConfig", ""),
        ),
        "containerd reads credentials of registries when it starts",
        until=FREE,
    ),
    RebootRule(
        (Place("SecurityProfileConfig", "workloadIsolation", default=False),),
        "the sandbox of CRI and kubelet is started at boot",
    ),
    RebootRule(
        (
            Place("", "machine.systemDiskEncryption.state", name="STATE"),
            Place("", "machine.systemDiskEncryption.ephemeral", name="EPHEMERAL"),
            Place("VolumeConfig", "encryption"),
        ),
        _SYSTEM_VOLUME,
    ),
    *(
        RebootRule((Place("VolumeConfig", path, default=default),), _SYSTEM_VOLUME)
        for path, default in (
            ("provisioning.grow", None),
            ("provisioning.maxSize", None),
            ("mount.secure", True),
            ("mount.disableAccessTime", False),
        )
    ),
    *_volume_rules(),
)
