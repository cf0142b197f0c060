"""The process that owns a real etcd and kube-apiserver on loopback.

`python -m tests.real.kube.keeper FOLDER OWNER_PID [CONTROLLER …]`, the controllers being those of a real
kube-controller-manager. All pytest workers use the one server. When the owner, the test
run, has ended in whatever way, both are stopped; if the keeper is killed itself, the kernel ends them.
A test that restarts the API server of its own kills it (`apiserver.kill`), and the keeper starts it again.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret
from tools.peers import find
from tools.ports import held_port

READY = "ready.json"
RESTART = "restart"  # a file; while there is one, the next program that ends is started again
FAILED = "failed"
PATIENCE = 300  # seconds; a busy machine may take many times the usual three to eight
_PR_SET_PDEATHSIG = 1


def main(folder: Path, owner: int, controllers: list[str]) -> None:
    alive = os.pidfd_open(owner)
    started: list[subprocess.Popen[bytes]] = []
    try:
        address, _held = _start(folder, started)
        if controllers:
            started.append(_start_controllers(folder, controllers))
        ready = folder / f"{READY}.new"
        ready.write_text(json.dumps({"address": address}))
        ready.rename(folder / READY)
        while not select.select([alive], [], [], 0.2)[0]:
            _start_again(folder, started)
    except Exception as problem:
        (folder / FAILED).write_text(f"{problem}")
        raise
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        shutil.rmtree(folder / "etcd", ignore_errors=True)  # large, and of no use to anybody


def _start(folder: Path, started: list[subprocess.Popen[bytes]]) -> tuple[str, list[socket.socket]]:
    """Where the server answers, and what holds its ports."""
    # Held until the end: programs that are to share them can have them, and nobody else takes them before.
    held = [held_port(), held_port()]
    etcd_port, port = (int(one.getsockname()[1]) for one in held)
    started.append(
        _run(
            folder,
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd_port}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--socket-reuse-port",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
    )
    authority = CertificateAndKey((folder / "ca.crt").read_text(), Secret((folder / "ca.key").read_text()))
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    serving = pki.new_leaf(
        authority,
        ["kubernetes"],
        lifetime=timedelta(days=1),
        usages=[pki.SERVER],
        common_name="kube-apiserver",
        names=["kubernetes", "kubernetes.default", "localhost", "127.0.0.1"],
        now=an_hour_ago,
    )
    admin = pki.new_leaf(
        authority, ["system:masters"], lifetime=timedelta(days=1), common_name="keeper", now=an_hour_ago
    )
    for name, pair in (("apiserver", serving), ("keeper", admin)):
        (folder / f"{name}.crt").write_text(pair.certificate)
        (folder / f"{name}.key").write_text(pair.key.reveal())
    started.append(
        _run(
            folder,
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--permit-port-sharing",
            f"--tls-cert-file={folder / 'apiserver.crt'}",
            f"--tls-private-key-file={folder / 'apiserver.key'}",
            f"--client-ca-file={folder / 'ca.crt'}",
            f"--service-account-key-file={folder / 'sa.key'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--anonymous-auth=false",
            "--endpoint-reconciler-type=none",
            # A machine that has other things to do for two seconds does not make the server unhealthy.
            f"--etcd-healthcheck-timeout={PATIENCE}s",
            f"--etcd-readycheck-timeout={PATIENCE}s",
        )
    )
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "keeper.crt", folder / "keeper.key")
    address = f"127.0.0.1:{port}"
    (folder / "kubeconfig").write_text(_kubeconfig(folder, address))
    _wait_until_ready(f"https://{address}", context, started)
    return address, held


def _start_again(folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    for number, process in enumerate(started):
        if process.poll() is not None and (folder / RESTART).exists():
            (folder / RESTART).unlink()
            program, *arguments = map(str, process.args)  # type: ignore[arg-type]
            started[number] = _run(folder, Path(program).name, *arguments)


def _start_controllers(folder: Path, controllers: list[str]) -> subprocess.Popen[bytes]:
    return _run(
        folder,
        "kube-controller-manager",
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--controllers={','.join(controllers)}",
        "--horizontal-pod-autoscaler-sync-period=1s",
        f"--cluster-signing-cert-file={folder / 'ca.crt'}",
        f"--cluster-signing-key-file={folder / 'ca.key'}",
        "--leader-elect=false",
        "--secure-port=0",
    )


def _wait_until_ready(server: str, context: ssl.SSLContext, started: list[subprocess.Popen[bytes]]) -> None:
    """Until the server says so, and has made by itself what it makes only after that."""
    until = time.monotonic() + PATIENCE
    last = "not asked yet"
    while time.monotonic() < until:
        for process in started:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        try:
            last = _missing(partial(_answer, server, context))
        except OSError as problem:
            last = str(problem)
        if not last:
            return
        time.sleep(0.1)
    raise RuntimeError(f"the API server is not ready after {PATIENCE} s: {last}")


def _answer(server: str, context: ssl.SSLContext, path: str, body: Any = None, user: str = "keeper") -> Any:
    headers = {"Impersonate-User": user} if user != "keeper" else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server}{path}", data, headers)  # noqa: S310
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:  # noqa: S310
        content = answer.read()
    return json.loads(content) if content.startswith(b"{") else content


def _missing(ask: Callable[..., Any]) -> str:
    """What is not there yet. Raises an `OSError` of what the server refuses, or does not have at all."""
    ask("/readyz")
    for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
        ask(f"/api/v1/namespaces/{namespace}")
    network = ask("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    if not any(one["status"] == "True" for one in network.get("status", {}).get("conditions", [])):
        return "services get no addresses yet"
    ask("/api/v1/namespaces/default/services/kubernetes")
    described = ask("/openapi/v3")["paths"].keys()
    served = {f"apis/{one['groupVersion']}" for group in ask("/apis")["groups"] for one in group["versions"]}
    unknown = {"api/v1", *served} - described
    if unknown:
        return f"not described: {', '.join(sorted(unknown))}"
    # What the server has made is one thing, that those of its parts know it that judge by it another.
    pod = {"priorityClassName": "system-cluster-critical", "containers": [{"name": "c", "image": "i"}]}
    ask("/api/v1/namespaces/default/pods?dryRun=All", {"metadata": {"name": "probe"}, "spec": pod})
    review = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/api"}}}
    answer = ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, user="somebody")
    return "" if answer["status"]["allowed"] else "nobody may look around yet"


def _run(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    libc = ctypes.CDLL(None)
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [find(name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )


def _kubeconfig(folder: Path, address: str) -> str:
    cluster = {"server": f"https://{address}", "certificate-authority": str(folder / "ca.crt")}
    user = {"client-certificate": str(folder / "keeper.crt"), "client-key": str(folder / "keeper.key")}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "us"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "us", "user": user}],
        }
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
