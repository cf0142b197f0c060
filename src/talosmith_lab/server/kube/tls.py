"""TLS of a control plane's API server: its certificate is of the cluster's Kubernetes authority, as clients' are."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from talosmith.desired.certificate_file import show_certificate
from talosmith.desired.pki import SERVER, new_leaf
from talosmith_lab import naming
from talosmith_lab.kube.bootstrap import ADDRESS
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.world import World

_LIFETIME = timedelta(days=365)
_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


def api_context(world: World, machine: Machine) -> ssl.SSLContext | None:
    """None while the node has no key to sign with."""
    config = world.config(machine)
    authority = config.kubernetes_authority if config is not None else None
    if config is None or authority is None or not authority.key:
        return None
    pair = new_leaf(
        authority,
        ["kube-master"],
        lifetime=_LIFETIME,
        usages=(SERVER,),
        common_name="kube-apiserver",
        names=names_of(world, machine, config),
        now=datetime.fromtimestamp(world.clock_of(machine), UTC) - timedelta(minutes=1),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    show_certificate(context, pair.certificate, pair.key)
    # A client without a certificate may still have a token. Certificates of others are refused here already.
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata="".join([authority.certificate, *config.kubernetes_accepted]))
    return context


def names_of(world: World, machine: Machine, config: NodeConfig) -> tuple[str, ...]:
    endpoint = urlsplit(config.endpoint).hostname or ""
    own = [*naming.addresses(world, machine), *config.vips]
    names = [*_NAMES, "localhost", naming.hostname(world, machine), endpoint, *config.api_sans, *own]
    return tuple(dict.fromkeys(filter(None, [*names, "127.0.0.1", ADDRESS])))
