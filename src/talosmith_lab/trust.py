"""Who signs the certificate that a node's API shows.

A control plane does it itself. A worker has no key to sign with and asks a control plane, so its API comes up only
when one of them answers.
"""

from __future__ import annotations

from talosmith.desired.pki import CertificateAndKey
from talosmith_lab.machine import Machine
from talosmith_lab.world import World


def signer_of(world: World, machine: Machine) -> CertificateAndKey | None:
    config = world.config(machine)
    if config is None or config.authority is None:
        return None
    if config.authority.key:
        return config.authority
    for other in world.control_planes(config.cluster_id):
        theirs = world.config(other)
        authority = theirs.authority if theirs else None
        if authority is None or authority.certificate != config.authority.certificate:
            continue
        if authority.key and other.runs("trustd") and world.talk(machine.name, other.name):
            return authority
    return None
