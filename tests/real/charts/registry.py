"""A real OCI registry (distribution) on loopback, filled by the real Helm: with TLS of a CA of its own, and a login.

with Registry(folder, helm=…, binary=…) as registry:
    registry.push(registry.package(chart_folder, "1.2.3"), "ghcr.io/org/charts")
    registry.mirror("ghcr.io")      # oci://127.0.0.1:…/ghcr.io, for `charts.mirrors`
    registry.environment            # SSL_CERT_FILE and the logins, for whoever pulls from it
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from ssl import create_default_context
from typing import Any, Self

import bcrypt

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind
from tests.loopback import unused_port
from tests.real.charts.token_server import TokenServer

PATIENCE = 60.0


@dataclass
class Registry:
    """Started by `start` or `with`, again as often as a test likes: what was pushed stays, and so does the port."""

    folder: Path
    binary: Path
    helm: Path
    credentials: tuple[str, str] = ("talosmith", "pass-word of a test")
    token_login: bool = False
    _process: subprocess.Popen[bytes] | None = None
    _held: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.start()
        self._helm("registry", "login", self.address, "--username", self.credentials[0], "--password-stdin")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._held.close()

    @cached_property
    def port(self) -> int:
        return self._held.enter_context(unused_port())

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def environment(self) -> dict[str, str]:
        """How to reach it: its CA, and the login that Helm has stored."""
        logins = self.folder / "logins.json"
        return {"SSL_CERT_FILE": str(self.ca_file), "HELM_REGISTRY_CONFIG": str(logins), "DOCKER_CONFIG": "/nowhere"}

    @property
    def storage(self) -> Path:
        return self.folder / "storage"

    def mirror(self, host: str) -> str:
        return f"oci://{self.address}/{host}"

    def blob(self, digest: str) -> Path:
        """The file of a blob: a test may damage it."""
        plain = digest.removeprefix("sha256:")
        return self.storage / "docker" / "registry" / "v2" / "blobs" / "sha256" / plain[:2] / plain / "data"

    def start(self) -> None:
        self.storage.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.json"  # JSON is YAML
        config.write_text(json.dumps(self._config()))
        with (self.folder / "registry.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.binary, "serve", config],
                stdout=log,
                stderr=log,
                env={**os.environ, "OTEL_TRACES_EXPORTER": "none"},
            )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"no registry: {(self.folder / 'registry.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def package(self, chart: Path, version: str = "") -> Path:
        """The archive of a chart, made by Helm."""
        target = self.folder / "packages" / (version or "own")
        chosen = ["--version", version] if version else []
        said = self._helm("package", str(chart), "--destination", str(target), *chosen)
        return Path(said.rpartition(": ")[2].strip())

    def push(self, archive: Path, path: str) -> str:
        """Push an archive below this path; the reference without its version."""
        self._helm("push", str(archive), f"oci://{self.address}/{path}", "--ca-file", str(self.ca_file))
        return f"oci://{self.address}/{path}"

    def _helm(self, *arguments: str) -> str:
        login = ["--ca-file", str(self.ca_file)] if arguments[0] == "registry" else []
        result = subprocess.run(
            [self.helm, *arguments, *login, "--registry-config", self.environment["HELM_REGISTRY_CONFIG"]],
            input=self.credentials[1],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HOME": str(self.folder)},
        )
        assert result.returncode == 0, f"helm {' '.join(arguments)}: {result.stderr}"
        return result.stdout

    def _answers(self) -> bool:
        context = create_default_context(cafile=str(self.ca_file))
        try:
            urllib.request.urlopen(f"https://{self.address}/v2/", context=context, timeout=5).close()
        except urllib.error.HTTPError as refused:
            return refused.code == 401
        except OSError:
            return False
        return True

    def _config(self) -> dict[str, Any]:
        certificate, key = self._certificate
        return {
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"filesystem": {"rootdirectory": str(self.storage)}},
            "http": {"addr": self.address, "tls": {"certificate": str(certificate), "key": str(key)}},
            "auth": self._auth,
        }

    @cached_property
    def _certificate(self) -> tuple[Path, Path]:
        authority = pki.new_authority("charts", KeyKind.ECDSA_P256, now=datetime.now(UTC) - timedelta(hours=1))
        leaf = pki.new_leaf(authority, [], lifetime=timedelta(days=1), usages=[pki.SERVER], names=["127.0.0.1"])
        certificate, key = self.folder / "server.crt", self.folder / "server.key"
        self.ca_file.write_text(authority.certificate)
        certificate.write_text(leaf.certificate)
        key.write_text(leaf.key.reveal())
        return certificate, key

    @cached_property
    def _auth(self) -> dict[str, Any]:
        if self.token_login:
            tokens = self._held.enter_context(TokenServer(self.folder, self.credentials, self._certificate))
            return {"token": tokens.settings}
        passwords = self.folder / "htpasswd"
        user, password = self.credentials
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()  # the cheapest: each request checks it
        passwords.write_text(f"{user}:{hashed}\n")
        return {"htpasswd": {"realm": "charts", "path": str(passwords)}}
