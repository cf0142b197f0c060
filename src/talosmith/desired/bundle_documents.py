"""Secrets that configs of Talos 1.14 hold in documents, as the fields of the main document that older ones have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from talosmith.desired.pki import to_base64

Fields = Mapping[str, Any]


def with_document_secrets(main: Fields, documents: Iterable[Fields]) -> dict[str, Any]:
    """The main document with the secrets of the others in the places of its older form."""
    cluster = dict(main.get("cluster") or {})
    for document in documents:
        cluster |= dict(_fields(document))
    return {**main, "cluster": cluster}


def _fields(document: Fields) -> Iterator[tuple[str, Any]]:
    match document.get("kind"):
        case "DiscoveryIdentityConfig":
            yield "id", document.get("clusterID")
            yield "secret", document.get("clusterSecret")
        case "KubeAPIServerCAConfig":
            yield "ca", _pair(document)
        case "KubeAggregatorCAConfig":
            yield "aggregatorCA", _pair(document)
        case "KubeServiceAccountConfig":
            key = (document.get("issuer") or {}).get("privateKey")
            yield "serviceAccount", {"key": to_base64(key) if isinstance(key, str) else key}
        case "KubeEtcdEncryptionConfig":
            yield from _encryption(document.get("config") or {})


def _pair(document: Fields) -> dict[str, Any]:
    pair = document.get("issuingCA") or {}
    return {
        new: to_base64(pair[old]) if isinstance(pair.get(old), str) else None
        for old, new in (("cert", "crt"), ("key", "key"))
    }


def _encryption(config: Fields) -> Iterator[tuple[str, Any]]:
    """The keys that Talos writes; others are the user's, and stay in patches."""
    names = {("secretbox", "key2"): "secretboxEncryptionSecret", ("aescbc", "key1"): "aescbcEncryptionSecret"}
    for resource in config.get("resources") or ():
        for provider in resource.get("providers") or ():
            for kind, content in provider.items():
                for key in (content or {}).get("keys") or ():
                    if (kind, key.get("name")) in names:
                        yield names[kind, key["name"]], key.get("secret")
