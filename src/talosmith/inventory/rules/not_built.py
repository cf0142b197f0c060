"""Keys that are accepted before anything acts on them: each gives a warning, so that nothing is ignored silently.

`tests/unit/inventory/test_every_key.py` holds this table to the schema: a key is acted on by a module, or it is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.resolve import Resolved

# Top-level key -> what does not happen. An entry is removed by the change that acts on the key.
NOT_BUILT = {
    "nfs": "no StorageClass is created",
    "addons": "nothing is installed",
    "domain": "no DNS record and no certificate is created for it",
    "gateways": "no Gateway is created",
    "dns": "no DNS record is created",
    "ingress": "no tunnel and no ingress is created",
    "unifi": "no DNS record is sent to the controller",
    "cilium": "Cilium is not installed or configured",
    "backup": "no etcd snapshot is taken",
    "repository": "the repository is neither read nor written",
    "gitops": "Flux is not installed",
}
_NONE_BY_DEFAULT = ("dns", "ingress")  # `provider: none` and `mode: none` ask for nothing

ADDONS = (
    "argo-cd",
    "aws-ccm",
    "aws-ebs-csi",
    "cert-manager",
    "cilium",
    "cloudflared",
    "coredns",
    "csi-driver-nfs",
    "envoy-gateway",
    "external-dns",
    "flannel",
    "flux-instance",
    "flux-operator",
    "gateway-api",
    "k8s-gateway",
    "local-path-provisioner",
    "metrics-server",
    "proxmox-ccm",
    "proxmox-csi",
    "reloader",
    "spegel",
    "talos-backup",
    "talos-ccm",
    "tuppr",
)


def keys_are_built(resolved: Resolved) -> Iterator[Finding]:
    """A warning for each key that is given, asks for something, and is not acted on."""
    inventory, fields = resolved.inventory, type(resolved.inventory).model_fields
    given = {key for key in inventory.model_fields_set if getattr(inventory, key) is not None}
    for key, consequence in NOT_BUILT.items():
        if key == "addons":
            yield from _addons(resolved)
        elif key in given and (key not in _NONE_BY_DEFAULT or getattr(inventory, key) != fields[key].default):
            fix = f"set it up yourself after `talosmith up`, or remove `{key}`"
            yield warning((key,), f"`{key}` is not built yet: {consequence}", fix=fix)


def _addons(resolved: Resolved) -> Iterator[Finding]:
    enabled = [name for name, addon in resolved.inventory.addons.items() if addon.enabled and name in ADDONS]
    if not enabled:
        return
    why, kubernetes = "", resolved.cluster.kubernetes
    if "cilium" in enabled and kubernetes.cni is not None and kubernetes.cni.name == "none":
        why = "`addons.cilium` sets the CNI to none in machine configs: nodes stay NotReady until a CNI is installed"
    what = f"`addons` are not built yet: nothing is installed for {', '.join(enabled)}"
    yield warning(("addons",), what, why, "install them with helm or kubectl after `talosmith up`")


def addons_are_known(resolved: Resolved) -> Iterator[Finding]:
    for name in resolved.inventory.addons:
        if name not in ADDONS:
            close = get_close_matches(name, ADDONS, n=1)
            fix = f"did you mean `{close[0]}`?" if close else f"known add-ons: {', '.join(ADDONS)}"
            yield error(("addons", name), f"`{name}` is not an add-on", fix=fix)
