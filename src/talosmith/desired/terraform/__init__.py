"""The machines of a cluster as Terraform resources, for teams whose virtual machines are Terraform's.

Terraform creates and deletes the machines; machine configs, and all that happens after the first boot, stay
talosmith's. A folder has a module that is the same for all clusters, and `terraform.tfvars.json`, which is derived
from the inventory. Neither holds a secret: the machine configs are in the NoCloud seeds, whose content Terraform does
not keep in its state. Machines that Terraform creates do not have talosmith's ownership tags, so talosmith never
changes or deletes them.
"""

from __future__ import annotations

import json
from importlib.resources import files

from talosmith.desired.images import Schematic
from talosmith.desired.machine.node import image_of
from talosmith.desired.terraform import libvirt, proxmox
from talosmith.desired.terraform.machines import SEEDS
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster, Node
from talosmith.model.providers import Libvirt, Proxmox

__all__ = ["MODULE", "SEEDS", "VARIABLES", "seeded", "terraform_files", "variables"]

MODULE = ("versions.tf", "variables.tf", "main.tf", "outputs.tf")
VARIABLES = "terraform.tfvars.json"


def terraform_files(cluster: Cluster) -> dict[str, bytes]:
    """File name and content: the module, its variables, and the schematics that the image factory must know."""
    values = variables(cluster)
    folder = files(__package__) / "modules" / cluster.provider.name
    found = {name: (folder / name).read_bytes() for name in MODULE}
    found[VARIABLES] = (json.dumps(values, indent=2, sort_keys=True) + "\n").encode()
    return found | _schematics(cluster)


def variables(cluster: Cluster) -> dict[str, object]:
    """What `terraform.tfvars.json` says, without secrets."""
    section = cluster.provider
    if isinstance(section, Proxmox):
        return proxmox.variables(cluster, section)
    if isinstance(section, Libvirt):
        return libvirt.variables(cluster, section)
    raise UsageError(
        f"`render terraform` does not support the provider `{section.name}`",
        hint="supported providers: proxmox, libvirt",
    )


def seeded(cluster: Cluster) -> tuple[Node, ...]:
    """The nodes whose machines boot with a NoCloud seed."""
    section = cluster.provider
    return () if isinstance(section, Proxmox) and not section.seed else cluster.nodes


def _schematics(cluster: Cluster) -> dict[str, bytes]:
    """The factory serves an image once it was sent its schematic; that of the plain image it has."""
    found = {}
    for node in cluster.nodes:
        request = image_of(node, cluster.talos_version, cluster.provider.platform)
        if request.extensions or request.kernel_args:
            schematic = Schematic(extensions=request.extensions, kernel_args=request.kernel_args)
            found[f"schematic-{schematic.id[:12]}.yaml"] = schematic.to_text().encode()
    return found
