"""What a config says of the machine itself: installation, kernel, files, containerd, volumes' encryption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.install_disks import match_expression
from talosmith.desired.config.meaning.view import Values, View, decoded, pair, section, texts

CRI_CUSTOMIZATION = "/etc/cri/conf.d/20-customization.part"
CRI_CUSTOMIZATION_NAME = "customization"  # what Talos calls the file's content; no document may have this name
_MANAGED_FILES = frozenset(
    ("resolv.conf", "hosts", "machine-id", "extensions.yaml", "localtime", "os-release", "xattr.conf")
)
_MANAGED_FOLDERS = frozenset(
    (
        "apparmor.d", "apparmor", "ca-certificates", "cni", "cri", "iscsi", "kubernetes", "lvm", "nvme", "pki",
        "selinux", "ssl",
    )
)  # fmt: skip
_TPM_REGISTERS = [7]
_ENCRYPTED = {"STATE": "state", "EPHEMERAL": "ephemeral"}


def install(view: View) -> Values | None:
    """The disk as an expression over `disk`. v1alpha1 wipes only if told to, the document unless told not to."""
    document = view.first("UnattendedInstallConfig")
    if document is not None:
        provisioning = section(document, "provisioning")
        return {
            "image": section(document, "installer").get("image") or "",
            "match": section(provisioning, "diskSelector").get("match") or "",
            "wipe": provisioning.get("wipe") is not False,
            "reboot": document.get("reboot"),
            "extraKernelArgs": [],
            "extensions": [],
            "legacyBIOSSupport": False,
            "grubUseUKICmdline": True,
        }
    old = view.machine.get("install")
    if old is None:
        return None
    return {
        "image": old.get("image") or "",
        "match": match_expression(old),
        "wipe": bool(old.get("wipe")),
        "reboot": None,
        "extraKernelArgs": texts(old.get("extraKernelArgs")),
        "extensions": [one.get("image") or "" for one in old.get("extensions") or ()],
        "legacyBIOSSupport": bool(old.get("legacyBIOSSupport")),
        "grubUseUKICmdline": bool(old.get("grubUseUKICmdline")),
    }


def sysctls(view: View) -> dict[str, str]:
    return _merged(view, "sysctls", "SysctlConfig")


def sysfs(view: View) -> dict[str, str]:
    return _merged(view, "sysfs", "SysfsConfig")


def environment(view: View) -> dict[str, str]:
    return _merged(view, "env", "EnvironmentConfig", "variables")


def _merged(view: View, old: str, kind: str, field: str = "params") -> dict[str, str]:
    """Both forms together; a document wins."""
    made = dict(view.machine.get(old) or {})
    for document in view.every(kind):
        made.update(document.get(field) or {})
    return made


def kernel_modules(view: View) -> dict[str, list[str]]:
    """Parameters by module; a document wins."""
    given = [*(view.of_machine("kernel").get("modules") or ()), *view.every("KernelModuleConfig")]
    return {one.get("name") or "": texts(one.get("parameters")) for one in given if one}


def udev_rules(view: View) -> list[str]:
    document = view.first("UdevRulesConfig")
    return texts((document if document is not None else view.of_machine("udev")).get("rules"))


def files(view: View) -> list[Values]:
    """`machine.files`, without containerd's customization and those below /etc."""
    given = view.machine.get("files") or ()
    return [dict(one) for one in given if one and one.get("path") != CRI_CUSTOMIZATION and not etc_name(one)]


def etc_name(file: Mapping[str, Any]) -> str:
    """The path below /etc, where Talos 1.14 would take an EtcFileConfig for the same; else empty."""
    path = str(file.get("path") or "")
    name = path.removeprefix("/etc/")
    if file.get("op") != "overwrite" or name == path or name.startswith(".") or ".." in name.split("/"):
        return ""
    managed = name in _MANAGED_FILES or name.split("/")[0] in _MANAGED_FOLDERS
    return "" if managed or "${" in name else name


def etc_files(view: View) -> Values:
    """Content and mode by path below /etc."""
    old = {etc_name(one): one for one in view.machine.get("files") or () if one and etc_name(one)}
    made = {
        name: {"contents": one.get("content") or "", "mode": one.get("permissions") or 0o644}
        for name, one in old.items()
    }
    for one in view.every("EtcFileConfig"):
        made[one.get("name") or ""] = {"contents": one.get("contents") or "", "mode": one.get("mode") or 0o644}
    return made


def cri_customization(view: View) -> list[Values]:
    """Parts of containerd's configuration, in the order of their names."""
    parts = [(one.get("name") or "", one.get("content") or "") for one in view.every("CRICustomizationConfig")]
    for one in view.machine.get("files") or ():
        if one and one.get("path") == CRI_CUSTOMIZATION:
            parts.append((CRI_CUSTOMIZATION_NAME, one.get("content") or ""))
            break
    return [{"content": content} for _, content in sorted(parts, key=lambda part: part[0])]


def cri_base_runtime_spec(view: View) -> Any:
    document = view.first("CRIBaseRuntimeSpecConfig")
    if document is not None:
        return document.get("overrides") or {}
    return view.machine.get("baseRuntimeSpecOverrides") or {}


def image_cache(view: View) -> bool:
    document = view.first("ImageCacheConfig")
    if document is not None:
        return bool(section(document, "local").get("enabled"))
    return bool(view.of_machine("features", "imageCache").get("localEnabled"))


def registry_mirrors(view: View) -> Values:
    made: Values = {}
    for host, mirror in view.of_machine("registries", "mirrors").items():
        given = mirror or {}
        made[host] = {
            "endpoints": [
                {"url": str(url), "overridePath": bool(given.get("overridePath"))}
                for url in given.get("endpoints") or ()
            ],
            "skipFallback": bool(given.get("skipFallback")),
        }
    for one in view.every("RegistryMirrorConfig"):
        made[one.get("name") or ""] = {
            "endpoints": [
                {"url": str(end.get("url") or ""), "overridePath": bool(end.get("overridePath"))}
                for end in one.get("endpoints") or ()
            ],
            "skipFallback": bool(one.get("skipFallback")),
        }
    return made


def registry_auth(view: View) -> Values:
    made = {
        host: _login(one["auth"])
        for host, one in view.of_machine("registries", "config").items()
        if one and one.get("auth") is not None
    }
    return made | {one.get("name") or "": _login(one) for one in view.every("RegistryAuthConfig")}


def _login(given: Mapping[str, Any]) -> Values:
    return {key: given.get(key) or "" for key in ("username", "password", "auth", "identityToken")}


def registry_tls(view: View) -> Values:
    made: Values = {}
    for host, one in view.of_machine("registries", "config").items():
        tls = (one or {}).get("tls")
        if tls is not None:
            identity = pair(tls.get("clientIdentity"))
            made[host] = _tls(identity, decoded(tls.get("ca")), tls)
    for one in view.every("RegistryTLSConfig"):
        given = one.get("clientIdentity")
        identity = {"cert": given.get("cert") or "", "key": given.get("key") or ""} if given else None
        made[one.get("name") or ""] = _tls(identity, one.get("ca") or "", one)
    return made


def _tls(identity: Mapping[str, str] | None, ca: str, given: Mapping[str, Any]) -> Values:
    return {"clientIdentity": identity, "ca": ca, "insecureSkipVerify": bool(given.get("insecureSkipVerify"))}


def volumes(view: View) -> Values:
    """System volumes by name; encryption may also stand in `machine.systemDiskEncryption`."""
    made: Values = {}
    for one in view.every("VolumeConfig"):
        rest = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "name", "encryption")}
        made[one.get("name") or ""] = {**rest, "encryption": _encryption(one.get("encryption"))}
    old = view.of_machine("systemDiskEncryption")
    for name, key in _ENCRYPTED.items():
        if old.get(key) is not None and not (made.get(name) or {}).get("encryption"):
            made[name] = {**made.get(name, {}), "encryption": _encryption(old[key])}
    return made


def _encryption(given: Mapping[str, Any] | None) -> Values | None:
    if not given:
        return None
    return {
        "provider": given.get("provider") or "luks2",
        "keys": [_encryption_key(one) for one in given.get("keys") or () if one],
        "cipher": given.get("cipher") or "",
        "keySize": given.get("keySize") or 0,
        "blockSize": given.get("blockSize") or 0,
        "options": texts(given.get("options")),
        "allowDiscards": bool(given.get("allowDiscards")),
    }


def _encryption_key(given: Mapping[str, Any]) -> Values:
    made: Values = {"slot": given.get("slot") or 0, "lockToState": bool(given.get("lockToState"))}
    for kind in ("static", "nodeID", "kms"):
        if given.get(kind) is not None:
            made[kind] = dict(given[kind])
    tpm = given.get("tpm")
    if tpm is not None:
        options = tpm.get("options")
        made["tpm"] = {
            "pcrs": _TPM_REGISTERS if options is None else list(options.get("pcrs") or ()),
            "checkSecurebootStatusOnEnroll": bool(tpm.get("checkSecurebootStatusOnEnroll")),
        }
    return made
