"""Commands for `fix:` lines, complete with the inventory's folder: to be pasted as they are."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Commands:
    """`folder`: of the inventory; None leaves it to the user's working directory."""

    folder: Path | None

    def talosmith(self, *words: str) -> str:
        given = ["-i", str(self.folder)] if self.folder is not None else []
        return shlex.join(["talosmith", *words, *given])

    def kubectl(self, *words: str) -> str:
        given = ["--kubeconfig", str(self.folder / "kubeconfig")] if self.folder is not None else []
        return shlex.join(["kubectl", *given, *words])

    def for_check(self, check: str, node: str) -> str:
        """What shows more of a failed check, or repairs it."""
        match check:
            case "kubelet" if node:
                return self.talosmith("node", "logs", node, "kubelet")
            case "etcd-healthy" if node:
                return self.talosmith("node", "logs", node, "etcd")
            case "boot" | "diagnostics" if node:
                return self.talosmith("node", "dmesg", node)
            case "node-objects" | "schedulable":
                return self.talosmith("up")
            case "nodes-ready":
                return self.kubectl("describe", "node", node)
            case "static-pods" | "components":
                return self.kubectl("-n", "kube-system", "get", "pods", "-o", "wide")
            case "kube-proxy":
                return self.kubectl("-n", "kube-system", "describe", "daemonset", "kube-proxy")
            case "coredns":
                return self.kubectl("-n", "kube-system", "describe", "deployment", "coredns")
        return self.talosmith("status")
