"""Which other tool manages an object: Flux, Argo CD or Helm. What one of them manages is theirs to change."""

from __future__ import annotations

from talosmith.kube.objects import Object, labels, metadata, notes

_FLUX = (("helm.toolkit.fluxcd.io", "HelmRelease"), ("kustomize.toolkit.fluxcd.io", "Kustomization"))
_ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
_ARGO_LABEL = "argocd.argoproj.io/instance"
_HELM_RELEASE = "meta.helm.sh/release-name"
_HELM_SPACE = "meta.helm.sh/release-namespace"
_HELM_MANAGERS = ("helm", "Helm")


def other_manager(item: Object) -> str:
    """`Flux (HelmRelease kube-system/cilium)`, by the object's labels and field managers; empty: none of them."""
    for prefix, kind in _FLUX:
        if name := labels(item).get(f"{prefix}/name"):
            return f"Flux ({kind} {labels(item).get(f'{prefix}/namespace', '')}/{name})"
    if tracked := notes(item).get(_ARGO_TRACKING) or labels(item).get(_ARGO_LABEL):
        return f"Argo CD (Application {tracked.split(':')[0]})"
    managers = {str(one.get("manager")) for one in metadata(item).get("managedFields") or ()}
    if managers & {*_HELM_MANAGERS}:
        return f"Helm (release {notes(item).get(_HELM_SPACE, '')}/{notes(item).get(_HELM_RELEASE, '')})"
    return ""
