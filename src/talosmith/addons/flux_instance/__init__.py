"""flux-instance: Flux, which keeps the cluster in sync with its Git repository (`repository`, `gitops`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from talosmith.addons.addon import Addon, Chart, Finding, Object, Values, namespace_of, secret, supports
from talosmith.addons.flux_instance.known_hosts import KNOWN_HOSTS
from talosmith.model.cluster import Cluster
from talosmith.model.services import Gitops, Repository
from talosmith.model.values import SecretRef

NAME = "flux-instance"
_DEPLOY_KEY = "deploy-key"
# Which Flux supports which Kubernetes; within a minor version the operator upgrades Flux by itself.
_FLUX = {"2.9.x": ">=1.31", "2.8.x": ">=1.30", "2.7.x": ">=1.29", "2.5.x": ">=1.27"}


def values(cluster: Cluster) -> Values:
    kubernetes = str(cluster.kubernetes_version).removeprefix("v")
    fitting = (flux for flux, supported in _FLUX.items() if supports(supported, kubernetes))
    instance: Values = {
        "distribution": {"version": next(fitting, [*_FLUX][-1])},
        "cluster": {"domain": cluster.kubernetes.dns_domain},
    }
    repository = cluster.services.repository
    if repository is not None:
        instance["sync"] = _sync(repository, cluster.services.gitops or Gitops())
    return {"instance": instance}


def _sync(repository: Repository, gitops: Gitops) -> Values:
    found: Values = {
        "kind": "GitRepository",
        "url": repository.url,
        "ref": f"refs/heads/{repository.branch}",
        "path": gitops.path,
    }
    if "interval" in gitops.model_fields_set:  # else the chart's, which is one minute
        found["interval"] = gitops.interval
    if _by_ssh(repository):
        found["pullSecret"] = _DEPLOY_KEY
    return found


def objects(cluster: Cluster) -> Sequence[Object]:
    repository = cluster.services.repository
    if repository is None or not _by_ssh(repository) or repository.deploy_key is None:
        return ()
    hosts = repository.known_hosts or KNOWN_HOSTS.get(urlsplit(repository.url).hostname or "", "")
    key: dict[str, str | SecretRef] = {"identity": repository.deploy_key, "known_hosts": hosts}
    return (secret(_DEPLOY_KEY, namespace_of(cluster, NAME), key),)


def _by_ssh(repository: Repository) -> bool:
    return repository.url.startswith("ssh://")


def check(cluster: Cluster) -> Iterator[Finding]:
    repository = cluster.services.repository
    if repository is None:
        fix = "set repository.url and repository.deploy_key"
        yield Finding("error", ("addons", NAME), f"{NAME} needs a `repository` to follow", fix=fix)
    elif _by_ssh(repository) and repository.deploy_key is None:
        yield Finding(
            "error",
            ("repository",),
            "a repository over ssh needs `repository.deploy_key`",
            "Flux has no other key",
            "add a read-only deploy key to the repository, for example deploy_key: sops:repository.deploy_key",
        )
    elif not _by_ssh(repository) and repository.visibility == "private":
        yield Finding(
            "warning",
            ("repository",),
            "Flux reads the repository without credentials, which a private one refuses",
            "`repository.url` is https",
            "use ssh:// with `deploy_key`, or set `visibility: public`",
        )


ADDON = Addon(
    title="Flux: keeps the cluster in sync with a Git repository",
    namespace="flux-system",
    chart=Chart("oci://ghcr.io/controlplaneio-fluxcd/charts/flux-instance", {"0.58.1": ">=1.22"}),
    values=values,
    objects=objects,
    check=check,
    after=("flux-operator",),
    brings=("flux-operator",),
    rendered_by_tests=False,
)
