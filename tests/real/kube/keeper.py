"""The process that owns a real etcd and kube-apiserver on loopback.

`python -m tests.real.kube.keeper FOLDER OWNER_PID [CONTROLLER …]`, the controllers being those of a real
kube-controller-manager. All pytest workers use the one server. When the owner, the test
run, has ended in whatever way, both are stopped; if the keeper is killed itself, the kernel ends them.
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
from datetime import UTC, datetime, timedelta
from pathlib import Path

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret
from tools.peers import find

READY = "ready.json"
FAILED = "failed"
PATIENCE = 60  # seconds; a busy machine may take several times the usual three to eight
_PR_SET_PDEATHSIG = 1


def main(folder: Path, owner: int, controllers: list[str]) -> None:
    alive = os.pidfd_open(owner)
    started: list[subprocess.Popen[bytes]] = []
    try:
        address = _start(folder, started)
        if controllers:
            started.append(_start_controllers(folder, controllers))
        ready = folder / f"{READY}.new"
        ready.write_text(json.dumps({"address": address}))
        ready.rename(folder / READY)
        select.select([alive], [], [])
    except Exception as problem:
        (folder / FAILED).write_text(f"{problem}")
        raise
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        shutil.rmtree(folder / "etcd", ignore_errors=True)  # large, and of no use to anybody


def _start(folder: Path, started: list[subprocess.Popen[bytes]]) -> str:
    etcd_port, port = _free_port(), _free_port()
    started.append(
        _run(
            folder,
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd_port}",
            "--listen-peer-urls=http://127.0.0.1:0",
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
        )
    )
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "keeper.crt", folder / "keeper.key")
    address = f"127.0.0.1:{port}"
    (folder / "kubeconfig").write_text(_kubeconfig(folder, address))
    _wait_until_ready(f"https://{address}/readyz", context, started)
    return address


def _start_controllers(folder: Path, controllers: list[str]) -> subprocess.Popen[bytes]:
    return _run(
        folder,
        "kube-controller-manager",
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--controllers={','.join(controllers)}",
        f"--cluster-signing-cert-file={folder / 'ca.crt'}",
        f"--cluster-signing-key-file={folder / 'ca.key'}",
        "--leader-elect=false",
        "--secure-port=0",
    )


def _wait_until_ready(url: str, context: ssl.SSLContext, started: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + PATIENCE
    last = "not asked yet"
    while time.monotonic() < until:
        for process in started:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, context=context, timeout=2) as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except OSError as problem:
            last = str(problem)
        time.sleep(0.1)
    raise RuntimeError(f"the API server is not ready after {PATIENCE} s: {last}")


def _run(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    libc = ctypes.CDLL(None)
    with (folder / f"{name}.log").open("wb") as log:
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


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
