"""How pods reach the API of Proxmox VE: what proxmox-ccm and proxmox-csi have in common."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Finding, Values
from talosmith.model.cluster import Cluster
from talosmith.model.providers.proxmox import Proxmox

REGION = "pve"  # label topology.kubernetes.io/region; the zone is the Proxmox node
_API = "/api2/json"
_NEEDED = ("url", "token_id", "token_secret")


def proxmox_config(cluster: Cluster) -> Values:
    """The chart's `config`; without clusters if the inventory lacks a part, which `proxmox_findings` reports."""
    section = cluster.provider
    if not isinstance(section, Proxmox) or _missing(section):
        return {"clusters": []}
    access = {
        "url": f"{str(section.url).removesuffix(_API)}{_API}",
        "insecure": section.fingerprint is not None,
        "token_id": section.token_id,
        "token_secret": section.token_secret,
        "region": REGION,
    }
    return {"clusters": [access]}


def proxmox_findings(cluster: Cluster, name: str, privileges: str) -> Iterator[Finding]:
    """What is wrong with the inventory for an add-on that calls Proxmox. `privileges` are those its token needs."""
    section, own = cluster.provider, cluster.addons[name].settings.values
    if not isinstance(section, Proxmox):
        yield Finding("error", ("addons", name), f"{name} needs the provider proxmox, not {section.name}")
        return
    if own.get("existingConfigSecret") or (own.get("config") or {}).get("clusters"):
        return  # the user's own access
    other = f"addons.{name}.values.config.clusters"
    if missing := _missing(section):
        yield Finding(
            "error",
            ("addons", name),
            f"{name} needs {' and '.join(f'`proxmox.{key}`' for key in missing)}",
            "it is installed in the cluster, where the environment variables of talosmith do not exist",
            f"set it, or give the pods their own access: `{other}`",
        )
        return
    yield Finding(
        "warning",
        ("addons", name),
        f"{name} stores the API token of talosmith ({section.token_id}) in a Secret of the cluster",
        f"{name} needs {privileges} alone",
        f"create a token with these privileges and set `{other}` (url, token_id, token_secret, region)",
    )
    if section.fingerprint:
        yield Finding(
            "warning",
            ("addons", name),
            f"{name} does not verify the certificate of Proxmox (insecure: true)",
            "it cannot pin `proxmox.fingerprint`",
            f"use a certificate of a CA that containers trust, and set `{other}`",
        )
    elif section.ca and not own.get("extraVolumeMounts"):
        yield Finding(
            "error",
            ("addons", name),
            f"{name} does not trust the certificate of Proxmox (x509: certificate signed by unknown authority)",
            "`proxmox.ca` is a file of this computer",
            f"mount the CA with addons.{name}.values.extraVolumes and .extraVolumeMounts, or set `{other}`",
        )


def _missing(section: Proxmox) -> list[str]:
    return [key for key in _NEEDED if getattr(section, key) is None]
