"""Fields of the machine whose translation is more than a new place: lists that become documents, and no equals."""

from __future__ import annotations

import re
from typing import Any

from talosmith.desired.config.install_disks import NoExpression, disk_expression, selector_expression
from talosmith.desired.config.meaning.kubernetes import KUBE_PRISM_PORT, static_pod_name
from talosmith.desired.config.meaning.machine import CRI_CUSTOMIZATION, etc_name
from talosmith.desired.config.meaning.view import decoded
from talosmith.desired.config.migrate.mover import Mover, Path, is_deletion
from talosmith.desired.config.migrate.source import Branch, Entry, Item, Made, made
from talosmith.desired.config.patch.deletion import MARK
from talosmith.inventory.importers.yaml_text import Octal

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
INSTALL: Path = ("machine", "install")
REGISTRIES: Path = ("machine", "registries")
FEATURES: Path = ("machine", "features")
_ONLY_V1ALPHA1 = "no document has it"


def is_subdomain(name: str) -> bool:
    return len(name) <= 253 and bool(_SUBDOMAIN.fullmatch(name))


def kubelet(mover: Mover) -> None:
    old = ("machine", "kubelet")
    manifests = mover.find(*old, "disableManifestsDirectory")
    if manifests is not None and manifests.plain() is True:
        mover.take(*old, "disableManifestsDirectory")
        mover.drop(
            manifests, (*old, "disableManifestsDirectory"), "with KubeletConfig the directory is always disabled"
        )
    elif manifests is not None:
        why, fix = "KubeletConfig always disables the manifests directory", "use KubeStaticPodConfig documents"
        mover.keep(manifests, (*old, "disableManifestsDirectory"), why, fix, blocking=True)
    mounts = mover.find(*old, "extraMounts")
    if mounts is not None:
        mover.keep(
            mounts,
            (*old, "extraMounts"),
            "KubeletConfig has no mounts, and Talos refuses it beside machine.kubelet",
            "keep the data in a UserVolumeConfig: kubelet and pods see /var/mnt/NAME without a mount",
            blocking=True,
        )


def hostname(mover: Mover) -> None:
    old = ("machine", "network", "hostname")
    entry = mover.take(*old)
    if entry is not None and is_deletion(entry):
        mover.drop(entry, old, "fresh configs have no hostname here")
    elif entry is not None:
        mover.document("HostnameConfig").put((), Entry("auto", Made("off")))
        mover.put("HostnameConfig", "", ("hostname",), entry, old)
    stable = mover.take(*FEATURES, "stableHostname")
    if stable is not None:
        mover.drop(
            stable, (*FEATURES, "stableHostname"), "fresh configs have HostnameConfig, which Talos refuses beside it"
        )


def name_servers(mover: Mover) -> None:
    old = ("machine", "network", "nameservers")
    entry = mover.take(*old)
    if entry is None:
        return
    if is_deletion(entry):
        mover.put("ResolverConfig", "", ("nameservers",), entry, old)
    else:
        mover.value("ResolverConfig", "", ("nameservers",), [{"address": one} for one in entry.plain()], entry, old)


def host_entries(mover: Mover) -> None:
    old = ("machine", "network", "extraHostEntries")
    for item in items_of(mover, old):
        fields = item.branch.plain()
        known = mover.documents.get(("StaticHostConfig", str(fields.get("ip")), False))
        entry = Entry("hostnames", _value(item, "aliases"), item.comments, "", item.line)
        if known is not None:  # one address, two entries: the second adds to the first
            entry = Entry("hostnames", Made([*known.plain()["hostnames"], *entry.plain()]))
        mover.put("StaticHostConfig", str(fields.get("ip")), ("hostnames",), entry, old)


def interfaces(mover: Mover) -> None:
    """They stay: one link document switches off DHCP on every link that no document asks it for."""
    old = ("machine", "network", "interfaces")
    entry = mover.find(*old)
    if entry is not None:
        why = "Talos 1.14 still takes it, and one LinkConfig would switch off DHCP on all other links"
        fix = "write LinkConfig, DHCPv4Config and Layer2VIPConfig documents for every link of the node"
        mover.keep(entry, old, why, fix)


def kernel_modules(mover: Mover) -> None:
    named(mover, ("machine", "kernel", "modules"), "KernelModuleConfig")


def static_pods(mover: Mover) -> None:
    old = ("machine", "pods")
    found = mover.find(*old)
    names = [static_pod_name(item.branch.plain()) for item in found.items()] if found else []
    if found is not None and not all(is_subdomain(name) for name in names):
        mover.keep(found, old, "a pod's name cannot name a document")
        return
    for item in items_of(mover, old):
        name = static_pod_name(item.branch.plain())
        mover.put("KubeStaticPodConfig", name, ("pod",), Entry("pod", item.branch, item.comments, "", item.line), old)


def files(mover: Mover) -> None:
    old = ("machine", "files")
    entry = mover.find(*old)
    if entry is None:
        return
    kept: list[Item] = []
    for item in entry.items():
        file = item.branch.plain()
        path, name = str(file.get("path") or ""), etc_name(file)
        if path == CRI_CUSTOMIZATION:
            one = Entry("content", _value(item, "content"), item.comments, "", item.line)
            mover.put("CRICustomizationConfig", "20-customization", ("content",), one, old)
        elif name:
            mover.value(
                "EtcFileConfig", name, ("mode",), Octal(file.get("permissions") or 0o644), Entry("", made({})), old
            )
            one = Entry("contents", _value(item, "content"), item.comments, "", item.line)
            mover.put("EtcFileConfig", name, ("contents",), one, old)
        else:
            kept.append(item)
    if not kept:
        mover.take(*old)
    else:
        mover.keep(entry, old, f"files below /var stay: {_ONLY_V1ALPHA1}")
        if len(kept) < len(entry.items()):
            mover.main.put(old[:-1], Entry("files", Made([_file(one.branch.plain()) for one in kept])))


def _file(file: dict[str, Any]) -> dict[str, Any]:
    mode = file.get("permissions")
    return {**file, "permissions": Octal(mode)} if isinstance(mode, int) else file


def registries(mover: Mover) -> None:
    for host, mirror in _entries(mover, (*REGISTRIES, "mirrors")):
        old = (*REGISTRIES, "mirrors", host)
        mover.take(*old)
        if is_deletion(mirror):
            mover.delete("RegistryMirrorConfig", host, mirror, old)
            continue
        fields = mirror.plain() or {}
        override = {"overridePath": True} if fields.get("overridePath") else {}
        urls = [{"url": url, **override} for url in fields.get("endpoints") or ()]
        mover.value("RegistryMirrorConfig", host, ("endpoints",), urls, mirror, old)
        if fields.get("skipFallback") is not None:
            mover.document("RegistryMirrorConfig", host).put((), Entry("skipFallback", Made(fields["skipFallback"])))
    for host, one in _entries(mover, (*REGISTRIES, "config")):
        old = (*REGISTRIES, "config", host)
        auth = mover.take(*old, "auth")
        if auth is not None:
            mover.put("RegistryAuthConfig", host, (), auth, (*old, "auth"))
        tls = mover.take(*old, "tls")
        if tls is not None:
            mover.document("RegistryTLSConfig", host, tls.remarks())
            for field in made(_tls(tls.plain())).entries:
                mover.document("RegistryTLSConfig", host).put((), field)
            mover.record((*old, "tls"), "RegistryTLSConfig", host, (), tls.line)
        if is_deletion(one):
            mover.keep(
                one, old, "there is no equal for deleting a registry's settings", "delete its documents by name"
            )


def _tls(old: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    identity = old.get("clientIdentity")
    if identity:
        fields["clientIdentity"] = {"cert": decoded(identity.get("crt")), "key": decoded(identity.get("key"))}
    if old.get("ca"):
        fields["ca"] = decoded(old["ca"])
    if old.get("insecureSkipVerify") is not None:
        fields["insecureSkipVerify"] = old["insecureSkipVerify"]
    return fields


def features(mover: Mover) -> None:
    prism = mover.take(*FEATURES, "kubePrism")
    if prism is not None:
        fields, old = prism.plain() or {}, (*FEATURES, "kubePrism")
        if MARK in fields or fields.get("enabled") is False:
            mover.delete("KubePrismConfig", "", prism, old)
        else:
            mover.value("KubePrismConfig", "", ("port",), fields.get("port") or KUBE_PRISM_PORT, prism, old)
    access = mover.take(*FEATURES, "kubernetesTalosAPIAccess")
    if access is not None:
        old = (*FEATURES, "kubernetesTalosAPIAccess")
        fields = access.plain() or {}
        if MARK in fields or fields.get("enabled") is False:
            mover.delete("KubeTalosAPIAccessConfig", "", access, old)
        elif isinstance(access.value, Branch):
            access.value.entries = [one for one in access.value.entries if one.key != "enabled"]
            mover.put("KubeTalosAPIAccessConfig", "", (), access, old)


def install(mover: Mover) -> None:
    entry = mover.find(*INSTALL)
    if entry is None:
        return
    if is_deletion(entry):
        mover.take(*INSTALL)
        mover.delete("UnattendedInstallConfig", "", entry, INSTALL)
        return
    fields = entry.plain() or {}
    for name, harmless, why in (
        ("grubUseUKICmdline", True, "with UnattendedInstallConfig it is always so"),
        ("legacyBIOSSupport", False, "with UnattendedInstallConfig it is always so"),
        ("bootloader", fields.get("bootloader"), "Talos has ignored it for long"),
    ):
        one = mover.find(*INSTALL, name)
        if one is not None and one.plain() == harmless:
            mover.take(*INSTALL, name)
            mover.drop(one, (*INSTALL, name), why)
    match = _match(mover, fields)
    for name, fix in (
        ("extraKernelArgs", "`image.kernel_args` of the inventory: they are part of the image"),
        ("extensions", "`image.extensions` of the inventory: they are part of the image"),
        ("legacyBIOSSupport", "remove it"),
        ("grubUseUKICmdline", "remove it"),
    ):
        one = mover.find(*INSTALL, name)
        if one is not None:
            mover.keep(one, (*INSTALL, name), "UnattendedInstallConfig has no such field", fix, blocking=True)
    for name in ("disk", "diskSelector", "image", "wipe"):
        one = mover.find(*INSTALL, name)
        if one is not None and not match:
            why = "a patch of UnattendedInstallConfig must name the disk, else it removes the one that is there"
            fix = "name the disk in the same patch, or use `disk` and `image` of the inventory"
            mover.keep(one, (*INSTALL, name), why, fix, blocking=True)
        elif one is not None:
            _move_install(mover, name, match)
    if match and fields.get("wipe") is None and mover.documents.get(("UnattendedInstallConfig", "", False)):
        mover.document("UnattendedInstallConfig").put(("provisioning",), Entry("wipe", Made(False)))


def _match(mover: Mover, fields: dict[str, Any]) -> str:
    if fields.get("diskSelector"):
        try:
            return selector_expression(fields["diskSelector"])
        except NoExpression:
            return ""
    return disk_expression(str(fields["disk"])) if fields.get("disk") else mover.scope.install_match


def _move_install(mover: Mover, name: str, match: str) -> None:
    entry = mover.take(*INSTALL, name)
    if entry is None:
        return
    kind, selector = "UnattendedInstallConfig", ("provisioning", "diskSelector", "match")
    if name in ("disk", "diskSelector"):
        mover.value(kind, "", selector, match, entry, (*INSTALL, name))
        return
    mover.put(
        kind, "", ("installer", "image") if name == "image" else ("provisioning", "wipe"), entry, (*INSTALL, name)
    )
    document = mover.document(kind)
    if ("provisioning" not in document.plain()) or "diskSelector" not in document.plain()["provisioning"]:
        document.put(selector[:-1], Entry("match", Made(match)))


def named(mover: Mover, old: Path, kind: str) -> None:
    """A list whose items have names: each is a document with the other fields."""
    for item in items_of(mover, old):
        name = str(item.branch.plain().get("name"))
        rest = Branch([one for one in item.branch.entries if one.key != "name"])
        if rest.get(MARK) is not None:
            mover.delete(kind, name, Entry("", rest, item.comments, "", item.line), old)
        else:
            mover.put(kind, name, (), Entry("", rest, item.comments, "", item.line), old)


def items_of(mover: Mover, old: Path) -> tuple[Item, ...]:
    """The items of a list, which is taken out; a list that is deleted as a whole stays."""
    entry = mover.find(*old)
    if entry is None:
        return ()
    if is_deletion(entry):
        mover.keep(entry, old, "it deletes a list that fresh configs of Talos 1.14 do not have", "remove it")
        return ()
    mover.take(*old)
    items = entry.items()
    if items and entry.comments:
        items = (Item((*entry.comments, *items[0].comments), items[0].branch, items[0].line), *items[1:])
    return items


def _entries(mover: Mover, old: Path) -> list[tuple[str, Entry]]:
    section = mover.find(*old)
    if section is None or not isinstance(section.value, Branch):
        return []
    return [(entry.key, entry) for entry in section.value.entries if entry.key != MARK]


def _value(item: Item, key: str) -> Any:
    entry = item.branch.get(key)
    return entry.value if entry is not None else Made("")
