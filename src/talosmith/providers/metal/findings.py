"""What a probe of a machine means for a node that is to run on it."""

from __future__ import annotations

from collections.abc import Mapping

from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from talosmith.providers.network.peek import PORT, Peek, Who

# The cause, and what to do about it.
_WRONG: Mapping[Who, tuple[str, str]] = {
    "silent": (
        "no answer",
        "power the machine on and boot Talos; if it has another address until it is configured, set "
        "`mac_addr`, and `metal.search` if it is on the local network",
    ),
    "closed": (
        f"no connection to port {PORT}",
        f"check that the machine has booted Talos and that no firewall blocks port {PORT}",
    ),
    "not-talos": (f"port {PORT} is not the Talos API", "check the address, and boot the machine from a Talos image"),
    "another": (
        "the machine already has the machine config of another cluster",
        "if its data may be lost, reset it as an administrator of its cluster: talosctl reset --reboot",
    ),
}
_TRANSIENT: frozenset[Who] = frozenset({"silent", "closed"})  # so does a machine look that boots or reboots


def finding_of(spec: MachineSpec, address: str, seen: Peek, seen_mac: str = "") -> Finding:
    """`seen_mac`: of another network card than the inventory's, which answers at the node's address."""
    check = f"{spec.name} at {address}"
    if seen.who == "ours":
        return Finding(level="ok", check=check, evidence="configured as a node of this cluster")
    if seen.who in _WRONG:
        cause, fix = _WRONG[seen.who]
        transient = seen.who in _TRANSIENT
        return Finding(level="error", check=check, cause=cause, evidence=seen.said, fix=fix, transient=transient)
    if seen_mac:
        return Finding(
            level="error",
            check=check,
            cause="another machine has this address",
            evidence=f"its MAC address is {seen_mac}, and that of {spec.name} is {spec.mac}",
            fix="correct `mac_addr` or `ip`, or have DHCP give the address to the right machine",
        )
    shown = f"it shows the fingerprint {seen.fingerprint}"
    if not spec.fingerprint:
        return Finding(
            level="warning",
            check=check,
            cause="in maintenance mode, and nothing proves that it is the machine it seems to be",
            evidence=shown,
            fix="compare this with its console, and set `fingerprint` of the node",
        )
    if spec.fingerprint != seen.fingerprint:
        return Finding(
            level="error",
            check=check,
            cause="the certificate is not the one that the inventory expects",
            evidence=f"{shown}, and {spec.fingerprint} is expected",
            fix="it makes a new one at every boot: compare with its console. If that shows another one than this, "
            "another machine answers at this address",
        )
    return Finding(level="ok", check=check, evidence="in maintenance mode, with the expected certificate")
