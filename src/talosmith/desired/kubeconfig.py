"""A kubeconfig from the cluster's secrets alone, in the form that `talosctl kubeconfig` writes.

The client certificate is signed by the Kubernetes CA. Its common name is the user and its organizations are the
groups; API servers accept it until it expires and cannot revoke it, so the lifetime is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.errors import UsageError
from talosmith.model.secret import Secret
from talosmith.yaml import goyaml

ADMIN = "admin"
ADMINISTRATORS = "system:masters"  # RBAC does not restrict this group
DEFAULT_LIFETIME = timedelta(days=365)


def context_name(cluster: str, user: str = ADMIN) -> str:
    return f"{user}@{cluster}"


def new_kubeconfig(
    cluster: str,
    authority: CertificateAndKey,
    server: str,
    *,
    user: str = ADMIN,
    groups: Sequence[str] = (ADMINISTRATORS,),
    lifetime: timedelta = DEFAULT_LIFETIME,
    now: datetime | None = None,
) -> Secret:
    """The file's text, with one context `USER@CLUSTER` and a new client certificate."""
    if not user:
        raise UsageError("a kubeconfig needs a user name", hint="pass --user NAME")
    if lifetime <= timedelta(0):
        raise UsageError("the lifetime of a client certificate is longer than 0s", hint="pass --lifetime 8h")
    client = pki.new_leaf(authority, sorted(set(groups)), common_name=user, lifetime=lifetime, now=now)
    context = context_name(cluster, user)
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": pki.to_base64(authority.certificate),
                },
            }
        ],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": pki.to_base64(client.certificate),
                    "client-key-data": pki.to_base64(client.key.reveal()),
                },
            }
        ],
        "contexts": [{"context": {"cluster": cluster, "namespace": "default", "user": context}, "name": context}],
        "current-context": context,
    }
    return Secret(goyaml.dump(data))
