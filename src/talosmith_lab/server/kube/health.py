"""What an API server says of its own health and version."""

from __future__ import annotations

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.server.kube.http import Answer

PATHS = ("/healthz", "/livez", "/readyz")
_TEXT = "text/plain; charset=utf-8"
_HOOKS = (
    "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer", "priority-and-fairness-filter", "storage-object-count-tracker-hook",
    "start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced",
    "start-system-namespaces-controller", "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller", "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector", "storage-readiness",
    "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers", "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes", "priority-and-fairness-config-producer", "bootstrap-controller",
    "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
    "apiservice-registration-controller", "apiservice-discovery-controller", "kube-apiserver-autoregistration",
)  # fmt: skip
_LAST_HOOKS = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")
_NEED_ETCD = ("etcd", "etcd-readiness")


def _checks(path: str) -> list[str]:
    first = {"/livez": ["ping", "log", "loopback-serving-certificate", "etcd"], "/healthz": ["ping", "log", "etcd"]}
    checks = first.get(path, ["ping", "log", "etcd", "etcd-readiness", "informer-sync"])
    hooks = [*(f"poststarthook/{one}" for one in _HOOKS), "autoregister-completion"]
    last = [f"poststarthook/{one}" for one in _LAST_HOOKS]
    return [*checks, *hooks, *last, *(["shutdown"] if path == "/readyz" else [])]


def health(path: str, *, verbose: bool, etcd: bool) -> Answer:
    """`path` may end in the name of one check."""
    root = next(one for one in PATHS if path.startswith(one))
    checks = _checks(root)
    name = path.removeprefix(root).strip("/")
    if name:
        if name not in checks:
            return Answer(404, b"404 page not found\n", _TEXT)
        checks = [name]
    failed = [] if etcd else [one for one in checks if one in _NEED_ETCD]
    if not failed and (not verbose or name):
        return Answer(200, b"ok", _TEXT)
    lines = [f"[-]{one} failed: reason withheld" if one in failed else f"[+]{one} ok" for one in checks]
    word = root.strip("/")
    lines.append(f"{word} check failed" if failed else f"{word} check passed")
    return Answer(500 if failed else 200, ("\n".join(lines) + "\n").encode(), _TEXT)


def version(text: str) -> Obj:
    """Of a version such as `v1.36.3`."""
    major, minor = [*text.removeprefix("v").split("."), "0", "0"][:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": text,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26.8",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
