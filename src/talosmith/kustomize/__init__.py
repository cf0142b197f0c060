"""Manifests of the user's own: files, folders and kustomizations, as Kubernetes objects.

A kustomization is built here, in pure Python; what only kustomize can build, a `kustomize` or `kubectl` on PATH
builds, and the result says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.manifests import Manifests, load_manifests

__all__ = ["ManifestError", "Manifests", "content_digest", "load_manifests", "read_manifests"]


def read_manifests(path: Path, *, root: Path | None = None) -> list[dict[str, Any]]:
    """The Kubernetes objects of a file, of a folder, or of a kustomization."""
    return load_manifests(path, root=root).objects


def content_digest(path: Path, *, root: Path | None = None) -> str:
    """SHA-256 over all files that the objects come from."""
    return load_manifests(path, root=root).digest
