"""The one real API server of a test run: the first worker that asks starts it, all use it, it ends with the run."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.model.secret import Secret
from tests.real.kube.keeper import FAILED, PATIENCE, READY, RESTART


@dataclass(frozen=True)
class ApiServer:
    """Where it answers, and the bundle of the cluster it plays."""

    address: str
    bundle: Bundle
    kubeconfig: Path


def attach(folder: Path, owner: int, controllers: Sequence[str] = ()) -> ApiServer:
    """The server of this folder; started if it is not yet, with these controllers."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with _locked(folder / "lock"):
        if not (folder / READY).exists():
            _start(folder, owner, controllers)
    return ApiServer(json.loads((folder / READY).read_text())["address"], _bundle(folder), folder / "kubeconfig")


def kill(server: ApiServer) -> None:
    """End the API server at once; its keeper starts it again. For who has the server alone."""
    folder = server.kubeconfig.parent
    (folder / RESTART).touch()
    certificate = f"--tls-cert-file={folder / 'apiserver.crt'}"
    for commands in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if certificate in commands.read_text().split("\0"):
                os.kill(int(commands.parent.name), signal.SIGKILL)


def _start(folder: Path, owner: int, controllers: Sequence[str]) -> None:
    authority = pki.new_authority("kubernetes", KeyKind.ECDSA_P256, now=datetime.now(UTC) - timedelta(hours=1))
    for name, text in (
        ("ca.crt", authority.certificate),
        ("ca.key", authority.key.reveal()),
        ("sa.key", pki.write_key(pki.new_key(KeyKind.ECDSA_P256)).reveal()),
    ):
        (folder / name).write_text(text)
    with (folder / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.real.kube.keeper", str(folder), str(owner), *controllers],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + PATIENCE + 10
    while not (folder / READY).exists():
        if keeper.poll() is not None or time.monotonic() > until:
            keeper.kill()  # what it has started goes with it, and the next who asks finds the folder free
            keeper.wait()
            reason = (folder / FAILED).read_text() if (folder / FAILED).exists() else "see the logs"
            raise RuntimeError(f"no API server in {folder}: {reason}")
        time.sleep(0.05)


def _bundle(folder: Path) -> Bundle:
    """Of a bundle's many secrets, an API server has only these two."""
    authority = CertificateAndKey((folder / "ca.crt").read_text(), Secret((folder / "ca.key").read_text()))
    return Bundle(
        cluster_id="test",
        cluster_secret=Secret("unused"),
        bootstrap_token=Secret("unused"),
        trustd_token=Secret("unused"),
        etcd=authority,
        k8s=authority,
        k8s_aggregator=authority,
        k8s_service_account=Secret((folder / "sa.key").read_text()),
        os=authority,
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
