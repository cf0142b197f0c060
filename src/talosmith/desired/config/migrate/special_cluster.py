"""The same for the cluster's half of v1alpha1: control plane components, CNI, discovery, manifests, secrets."""

from __future__ import annotations

import re
from typing import Any

from talosmith.desired.config.meaning.controlplane import ANONYMOUS, FLANNEL, PROXY_FLAGS, proxy_setting
from talosmith.desired.config.meaning.kubernetes import CONTROLPLANE_LABEL, NO_SCHEDULE
from talosmith.desired.config.meaning.network import DISCOVERY_ENDPOINT
from talosmith.desired.config.meaning.oidc import PREFIX, authenticator, is_translatable
from talosmith.desired.config.meaning.view import arguments, decoded
from talosmith.desired.config.migrate.mover import Mover, Path, is_deletion
from talosmith.desired.config.migrate.source import Branch, Entry, Item, Made, made
from talosmith.desired.config.migrate.special import is_subdomain, items_of, named
from talosmith.desired.config.patch.deletion import MARK

API: Path = ("cluster", "apiServer")
CNI: Path = ("cluster", "network", "cni")
DISCOVERY: Path = ("cluster", "discovery")
PROXY_ARGS: Path = ("cluster", "proxy", "extraArgs")

_ELSEWHERE = (  # arguments that Talos refuses in KubeAPIServerConfig
    ("oidc-signing-algs", "no equal: all asymmetric algorithms are accepted with KubeAuthenticationConfig"),
    ("oidc-ca-file", "write a KubeAuthenticationConfig with the CA itself in jwt[].issuer.certificateAuthority"),
    ("oidc-", "keep all oidc-… flags in one patch, or write a KubeAuthenticationConfig with jwt[].issuer"),
    ("anonymous-auth", "write a KubeAuthenticationConfig with anonymous.enabled"),
    ("authentication-config", "write a KubeAuthenticationConfig"),
    ("authorization-", "write KubeAuthorizerConfig documents"),
)
_SECRETS = (
    ("ca", "KubeAPIServerCAConfig"),
    ("aggregatorCA", "KubeAggregatorCAConfig"),
    ("serviceAccount", "KubeServiceAccountConfig"),
    ("secretboxEncryptionSecret", "KubeEtcdEncryptionConfig, with the key's name key2"),
    ("aescbcEncryptionSecret", "KubeEtcdEncryptionConfig, with the key's name key1"),
)


def scheduling(mover: Mover) -> None:
    """In KubeNodeConfig the taint of control planes is listed; v1alpha1 adds it unless told not to."""
    for name in ("allowSchedulingOnMasters", "allowSchedulingOnControlPlanes"):
        old = ("cluster", name)
        entry = mover.take(*old)
        if entry is None:
            continue
        allowed = entry.plain() is True
        if "controlplane" not in mover.scope.roles:
            mover.drop(entry, old, "workers do not read it")
        elif allowed != mover.scope.tainted or is_deletion(entry):
            mover.drop(entry, old, "the inventory's kubernetes.schedule_on_controlplanes says so already")
        else:
            gone = Entry(CONTROLPLANE_LABEL, made({MARK: "delete"}), entry.remarks(), "", entry.line)
            there = Entry(CONTROLPLANE_LABEL, Made(NO_SCHEDULE), entry.remarks(), "", entry.line)
            why = "the taint of control planes is listed, and deleted where pods may run there"
            place = ("taints", CONTROLPLANE_LABEL)
            mover.put("KubeNodeConfig", "", place, gone if allowed else there, old, why=why, only=True)


def endpoint(mover: Mover) -> None:
    old = ("cluster", "controlPlane", "endpoint")
    entry = mover.take(*old)
    if entry is None:
        return
    mover.put("KubeClusterConfig", "", ("endpoint",), entry, old)
    mover.value("KubeServiceAccountConfig", "", ("issuer", "issuerURL"), entry.plain(), Entry("", made({})), old)


def api_server_arguments(mover: Mover) -> None:
    section = mover.find(*API, "extraArgs")
    if section is None or not isinstance(section.value, Branch):
        return
    if is_translatable(arguments(section.value.plain())):
        _authentication(mover, section.value)
    refused = Branch()
    for entry in [*section.value.entries]:
        fix = next((fix for prefix, fix in _ELSEWHERE if entry.key.startswith(prefix)), "")
        if fix:
            section.value.entries.remove(entry)
            refused.entries.append(entry)
            why = "KubeAPIServerConfig refuses this argument"
            mover.keep(entry, (*API, "extraArgs", entry.key), why, fix, blocking=True)
    if refused.entries:
        owner = mover.find(*API)
        kept = Entry("extraArgs", refused)
        if section.value.entries:
            mover.put("KubeAPIServerConfig", "", ("extraArgs",), section, (*API, "extraArgs"))
        if owner is not None and isinstance(owner.value, Branch):
            owner.value.put((), kept)
        mover.held.add((*API, "extraArgs"))


def _authentication(mover: Mover, flags: Branch) -> None:
    """A patch replaces the whole configuration, so that the anonymous access of fresh configs is repeated."""
    made_of = authenticator(arguments(flags.plain()))
    names = [entry.key for entry in flags.entries if entry.key.startswith(PREFIX)]
    remarks: tuple[str, ...] = ()
    for name in names:
        entry = mover.take(*API, "extraArgs", name)
        if entry is not None:
            remarks = (*remarks, *entry.remarks())
            mover.record(
                (*API, "extraArgs", name), "KubeAuthenticationConfig", "", ("configuration", "jwt"), entry.line
            )
    mover.document("KubeAuthenticationConfig", "", remarks).put(
        (), Entry("configuration", made({"anonymous": ANONYMOUS, "jwt": [made_of]}))
    )


def api_server(mover: Mover) -> None:
    policy = mover.find(*API, "auditPolicy")
    if policy is not None and is_deletion(policy):
        mover.take(*API, "auditPolicy")
        mover.delete("KubeAuditPolicyConfig", "", policy, (*API, "auditPolicy"))
    psp = mover.take(*API, "disablePodSecurityPolicy")
    if psp is not None:
        mover.drop(psp, (*API, "disablePodSecurityPolicy"), "Kubernetes has no PodSecurityPolicy any more")
    admission = mover.find(*API, "admissionControl")
    if admission is not None and is_deletion(admission):
        mover.take(*API, "admissionControl")
        why = "each admission plug-in is a document; fresh configs have one, for PodSecurity"
        mover.delete("KubeAdmissionControlConfig", "PodSecurity", admission, (*API, "admissionControl"), why)
    else:
        named(mover, (*API, "admissionControl"), "KubeAdmissionControlConfig")
    _authorizers(mover)
    for name in ("apiServer", "controllerManager", "scheduler"):
        volumes = mover.find("cluster", name, "extraVolumes")
        if volumes is not None:
            why = "its document has no volumes"
            fix = "kube-apiserver sees /etc/ssl/certs without one; there is no other way"
            mover.keep(
                volumes, ("cluster", name, "extraVolumes"), why, fix if name == "apiServer" else "", blocking=True
            )


def _authorizers(mover: Mover) -> None:
    """Fresh configs list Node and RBAC first. Where the old list has them elsewhere, all are listed again."""
    old = (*API, "authorizationConfig")
    items = items_of(mover, old)
    kinds = [str(item.branch.plain().get("type")) for item in items]
    first = [kind for kind in ("Node", "RBAC") if kind not in kinds] + kinds
    if items and first[:2] != ["Node", "RBAC"]:
        for name in ("node", "rbac"):
            mover.delete(
                "KubeAuthorizerConfig", name, Entry("", made({})), old, "the order of the authorizers changes"
            )
        missing = [(kind, kind.lower()) for kind in ("Node", "RBAC") if kind not in kinds]
        for place, (kind, name) in enumerate(missing):
            items = (*items[:place], Item((), made({"name": name, "type": kind})), *items[place:])
    for item in items:
        fields = item.branch.plain()
        if fields.get("type") in ("Node", "RBAC") and first[:2] == ["Node", "RBAC"]:
            mover.drop(Entry("", item.branch), old, f"fresh configs list {fields['type']}")
            continue
        rest = Branch([one for one in item.branch.entries if one.key != "name"])
        mover.put(
            "KubeAuthorizerConfig", str(fields.get("name")), (), Entry("", rest, item.comments, "", item.line), old
        )


def proxy_arguments(mover: Mover) -> None:
    """kube-proxy reads a file now, beside which its flags count for nothing: those with an equal become settings."""
    section = mover.find(*PROXY_ARGS)
    if section is None or not isinstance(section.value, Branch):
        return
    for flag in [entry.key for entry in section.value.entries]:
        old = (*PROXY_ARGS, flag)
        if flag in PROXY_FLAGS:
            entry = mover.take(*old)
            if entry is not None:
                path, value = proxy_setting(flag, entry.plain())
                mover.value("KubeProxyConfig", "", ("config", *path), value, entry, old)
        else:
            entry = mover.find(*old)
            if entry is not None:
                why = "moved, but kube-proxy reads a file, beside which most flags count for nothing"
                mover.keep(entry, old, why, "write it as a field of KubeProxyConfig.config")


def cni(mover: Mover) -> None:
    section = mover.find(*CNI)
    if section is None:
        return
    mover.take(*CNI)
    fields = section.plain() or {}
    name = fields.get("name")
    if name in ("none", "custom"):
        mover.delete("KubeFlannelCNIConfig", "", section, (*CNI, "name"))
        for number, url in enumerate(fields.get("urls") or (), 1):
            label = "custom-cni" if number == 1 else f"custom-cni-{number}"
            mover.value("KubeExternalManifestConfig", label, ("url",), url, Entry("", made({})), (*CNI, "urls"))
        return
    if MARK in fields:
        mover.drop(section, CNI, "fresh configs of Talos 1.14 do not have it")
        return
    document = mover.document("KubeFlannelCNIConfig", "", section.remarks())
    for field in made({**FLANNEL, **(fields.get("flannel") or {})}).entries:
        document.put((), field)
    mover.record(CNI, "KubeFlannelCNIConfig", "", (), section.line)


def discovery(mover: Mover) -> None:
    entry = mover.find(*DISCOVERY)
    if entry is None:
        return
    fields = entry.plain() or {}
    registries = fields.get("registries") or {}
    service, kubernetes = registries.get("service") or {}, registries.get("kubernetes") or {}
    if kubernetes.get("disabled") is False and fields.get("enabled") is not False:
        why = "no document announces nodes by Kubernetes, and Talos refuses DiscoveryServiceConfig beside it"
        mover.keep(entry, DISCOVERY, why, "remove registries.kubernetes", blocking=True)
        return
    mover.take(*DISCOVERY)
    if MARK in fields or fields.get("enabled") is False or service.get("disabled"):
        mover.delete("DiscoveryServiceConfig", "default", entry, DISCOVERY)
    elif service.get("endpoint") or fields.get("enabled"):
        # Merged, the new URL would keep parts of the old one.
        mover.delete("DiscoveryServiceConfig", "default", Entry("", made({})), DISCOVERY, "its endpoint is replaced")
        address = service.get("endpoint") or DISCOVERY_ENDPOINT
        mover.value("DiscoveryServiceConfig", "default", ("endpoint",), address, entry, DISCOVERY)
    else:
        mover.drop(entry, DISCOVERY, "nodes are announced by the discovery service alone")


def manifests(mover: Mover) -> None:
    old = ("cluster", "inlineManifests")
    inline = mover.find(*old)
    names = [str(item.branch.plain().get("name")) for item in inline.items()] if inline else []
    if inline is not None and not all(is_subdomain(name) for name in names):
        mover.keep(inline, old, "a manifest's name cannot name a document", "use lower case letters, digits and -")
    else:
        for item in items_of(mover, old):
            contents = item.branch.get("contents")
            value = contents.value if contents is not None else Made("")
            name = str(item.branch.plain().get("name"))
            entry = Entry("manifest", value, item.comments, "", item.line)
            mover.put("KubeInlineManifestConfig", name, ("manifest",), entry, old)
    _external(mover)


def _external(mover: Mover) -> None:
    urls, old = mover.find("cluster", "extraManifests"), ("cluster", "extraManifests")
    headers = mover.find("cluster", "extraManifestHeaders")
    if urls is None and headers is not None:
        mover.keep(headers, ("cluster", "extraManifestHeaders"), "it applies to URLs of other patches")
    if urls is None or not isinstance(urls.plain(), list):
        return
    mover.take(*old)
    given: Any = headers.plain() if headers else None
    for url in urls.plain():
        name = _manifest_name(str(url), [key[1] for key in mover.documents])
        mover.value("KubeExternalManifestConfig", name, ("url",), url, Entry("", made({}), urls.comments), old)
        if given:
            mover.document("KubeExternalManifestConfig", name).put((), Entry("headers", made(given)))
    if headers is not None:
        mover.take("cluster", "extraManifestHeaders")
        mover.record(
            ("cluster", "extraManifestHeaders"), "KubeExternalManifestConfig", "", ("headers",), headers.line
        )


def _manifest_name(url: str, taken: list[str]) -> str:
    """From the last parts of the path, such as `metrics-server-components`."""
    parts = [part for part in re.sub(r"^\w+://[^/]*|[?#].*$", "", url).split("/") if part]
    stem = "-".join(parts[-2:]).lower()
    stem = re.sub(r"\.(ya?ml|json)$", "", stem)
    stem = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:60].strip("-") or "manifest"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return name


def secrets(mover: Mover) -> None:
    accepted = mover.find("cluster", "acceptedCAs")
    if accepted is not None and isinstance(accepted.plain(), list):
        mover.take("cluster", "acceptedCAs")
        certificates = [decoded(one.get("crt")) for one in accepted.plain()]
        mover.value("KubeAPIServerCAConfig", "", ("acceptedCAs",), certificates, accepted, ("cluster", "acceptedCAs"))
    for name, kind in _SECRETS:
        entry = mover.find("cluster", name)
        if entry is not None:
            why = f"it is the cluster's own secret, which talosmith writes to {kind}"
            fix = "remove it from the patch; a cluster's secrets come from its secrets file"
            mover.keep(entry, ("cluster", name), why, fix, blocking=True)
