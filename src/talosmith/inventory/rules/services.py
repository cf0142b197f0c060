"""DNS, gateways, BGP, the repository: settings that require each other."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.resolve import Resolved

# Git hosts whose ssh host keys are built in.
KNOWN_GIT_HOSTS = ("github.com", "gitlab.com", "codeberg.org")


def dns_is_complete(resolved: Resolved) -> Iterator[Finding]:
    services = resolved.cluster.services
    dns, ingress = services.dns, services.ingress
    cloudflare = dns.provider == "cloudflare"
    if cloudflare and dns.token is None:
        fix = "for example token: sops:cloudflare.token"
        yield error(("dns", "provider"), "Cloudflare DNS needs `dns.token`", fix=fix)
    if cloudflare and services.domain is None:
        yield error(("dns", "provider"), "DNS needs a `domain`")
    if not cloudflare and dns.token is not None:
        what = "`dns.token` is set without a DNS provider"
        yield error(("dns", "token"), what, fix="set `dns.provider: cloudflare`")
    if ingress.mode != "none" and not cloudflare:
        yield error(("ingress", "mode"), f"ingress `{ingress.mode}` needs `dns.provider: cloudflare`")
    if ingress.mode == "cloudflare-tunnel" and ingress.tunnel is None:
        fix = "for example tunnel: sops:cloudflare.tunnel"
        yield error(("ingress", "mode"), "a tunnel needs its credentials in `ingress.tunnel`", fix=fix)


def unifi_is_complete(resolved: Resolved) -> Iterator[Finding]:
    services = resolved.cluster.services
    if services.dns.internal == "unifi" and services.unifi is None:
        yield error(("dns", "internal"), "internal DNS by UniFi needs the block `unifi`")


def bgp_timers_fit(resolved: Resolved) -> Iterator[Finding]:
    bgp = resolved.cluster.services.cilium.bgp
    if bgp is not None and bgp.hold_time < 3 * bgp.keepalive_time:
        what = f"a hold time of {bgp.hold_time} s is shorter than three keepalives of {bgp.keepalive_time} s"
        yield error(("cilium", "bgp", "hold_time"), what, "one lost keepalive would end the BGP session")


def gateways_are_complete(resolved: Resolved) -> Iterator[Finding]:
    services = resolved.cluster.services
    if services.gateways is None:
        return
    if services.gateways.external is None and services.ingress.mode != "none":
        what = f"ingress `{services.ingress.mode}` needs `gateways.external`"
        yield error(("gateways",), what)
    if services.gateways.dns is None and services.dns.internal == "k8s-gateway":
        fix = "set `gateways.dns`, or `dns.internal: none`"
        yield error(("gateways",), "internal DNS by k8s-gateway needs `gateways.dns`", fix=fix)


def repository_host_is_known(resolved: Resolved) -> Iterator[Finding]:
    repository = resolved.cluster.services.repository
    if resolved.cluster.services.gitops is not None and repository is None:
        yield error(("gitops",), "`gitops` needs a `repository` to follow")
    if repository is None or not repository.url.startswith("ssh://"):
        return
    host = urlsplit(repository.url).hostname
    if host not in KNOWN_GIT_HOSTS and not repository.known_hosts:
        fix = f"set `repository.known_hosts` to what `ssh-keyscan {host}` prints, after checking it"
        yield error(("repository", "url"), f"the ssh host keys of {host} are unknown", fix=fix)
