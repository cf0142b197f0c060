"""What a chart may ask about the cluster: the version of Kubernetes and the API versions it serves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from talosmith.errors import UsageError
from talosmith.helm.go_struct import GoStruct

HELM_VERSION = "v4.3.1"  # whose behaviour is followed
DEFAULT_KUBE_VERSION = "v1.37.0"

# What `helm template` takes for granted: the API versions of all kinds that Kubernetes itself brings.
_DEFAULT_API_VERSIONS = (
    "v1", "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1", "internal.apiserver.k8s.io/v1alpha1", "apps/v1", "apps/v1beta1",
    "apps/v1beta2", "authentication.k8s.io/v1", "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1", "authorization.k8s.io/v1", "authorization.k8s.io/v1beta1",
    "autoscaling/v1", "autoscaling/v2", "batch/v1", "batch/v1beta1", "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1", "certificates.k8s.io/v1alpha1", "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1", "events.k8s.io/v1beta1", "extensions/v1beta1", "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1", "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3", "lifecycle.k8s.io/v1alpha1", "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1", "node.k8s.io/v1", "node.k8s.io/v1alpha1", "node.k8s.io/v1beta1", "policy/v1",
    "policy/v1beta1", "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1", "resource.k8s.io/v1", "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1", "storage.k8s.io/v1beta1", "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1", "storagemigration.k8s.io/v1", "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1",
)  # fmt: skip
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?.*")


class ApiVersions(list[str], GoStruct):
    """`.Capabilities.APIVersions`."""

    go_names = frozenset({"Has"})

    def Has(self, version: str) -> bool:  # noqa: N802 (the name that templates use)
        return version in self


@dataclass(frozen=True)
class KubeVersion(GoStruct):
    """`.Capabilities.KubeVersion`."""

    Version: str
    Major: str
    Minor: str
    plain: str  # without what a provider of clusters appends

    go_names = frozenset({"Version", "Major", "Minor", "GitVersion", "String"})

    def GitVersion(self) -> str:  # noqa: N802
        return self.Version

    def String(self) -> str:  # noqa: N802
        return self.plain

    def __str__(self) -> str:
        return self.plain


@dataclass(frozen=True)
class HelmVersion(GoStruct):
    """`.Capabilities.HelmVersion`."""

    Version: str = HELM_VERSION
    GitCommit: str = ""
    GitTreeState: str = ""
    GoVersion: str = ""
    KubeClientVersion: str = DEFAULT_KUBE_VERSION.removesuffix(".0")

    go_names = frozenset({"Version", "GitCommit", "GitTreeState", "GoVersion", "KubeClientVersion"})


@dataclass(frozen=True)
class Capabilities(GoStruct):
    """`.Capabilities`."""

    KubeVersion: KubeVersion
    APIVersions: ApiVersions
    HelmVersion: HelmVersion

    go_names = frozenset({"KubeVersion", "APIVersions", "HelmVersion"})


def capabilities(kube_version: str = DEFAULT_KUBE_VERSION, api_versions: tuple[str, ...] = ()) -> Capabilities:
    """A cluster of that version that serves its own API versions and these as well."""
    match = _VERSION.fullmatch(kube_version)
    if match is None:
        raise UsageError(f"{kube_version!r} is no version of Kubernetes", hint="for example v1.36.3")
    major, minor, patch = match.groups()
    known = ApiVersions([*_DEFAULT_API_VERSIONS, *api_versions])
    plain = f"v{major}.{minor}.{patch or 0}" if patch or "." in kube_version else kube_version
    named = kube_version if kube_version.startswith("v") else f"v{kube_version}"
    return Capabilities(KubeVersion(named, major, minor, plain), known, HelmVersion())
