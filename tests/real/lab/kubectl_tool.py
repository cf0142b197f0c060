"""The real `kubectl` against some API server, as a person types it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from talosmith.desired.bundle import Bundle
from talosmith.kube.credentials import Credentials
from tests.real.lab.lab_cluster import PATIENCE, Said

PATIENTLY = "--timeout=3m"  # kubectl is to give up before we do, and say why


@dataclass(frozen=True)
class Kubectl:
    """One server, one namespace, one folder to run in."""

    path: Path
    kubeconfig: Path
    folder: Path
    namespace: str = "default"

    @classmethod
    def of(cls, path: Path, folder: Path, address: str, bundle: Bundle, namespace: str = "default") -> Kubectl:
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(_kubeconfig(address, bundle), encoding="utf-8")
        return cls(path, kubeconfig, folder, namespace)

    def run(self, *arguments: str, seconds: float = PATIENCE, editor: str = "", given: str = "") -> Said:
        done = subprocess.run(
            [str(self.path), f"--namespace={self.namespace}", *arguments],
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self._environment(editor),
            cwd=self.folder,
            check=False,
            input=given,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def done(self, *arguments: str, seconds: float = PATIENCE, given: str = "") -> str:
        """What it said about something that must work."""
        said = self.run(*arguments, seconds=seconds, given=given)
        assert said.code == 0, f"kubectl {shlex.join(arguments)}: {said.all}"
        return said.out

    def until(self, holds: Callable[[str], object], *arguments: str) -> str:
        """What it said, asked again until that holds: others bring it about."""
        end = time.monotonic() + PATIENCE
        while not holds(said := self.done(*arguments)):
            assert time.monotonic() < end, f"kubectl {shlex.join(arguments)} after {PATIENCE} s still: {said}"
            time.sleep(0.2)
        return said

    def wait_for(self, *names: str) -> None:
        """Such as node/cp-1: until all of them are there. `kubectl wait --for=create` gives up if two are missing."""
        self.until(lambda told: set(names) <= set(told.split()), "get", *names, "--ignore-not-found", "-o", "name")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """One that goes on until it is ended."""
        return subprocess.Popen(
            [str(self.path), f"--namespace={self.namespace}", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(""),
            cwd=self.folder,
        )

    def _environment(self, editor: str) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("KUBE")},
            "KUBECONFIG": str(self.kubeconfig),
            "KUBE_EDITOR": editor or "true",
            "HOME": str(self.folder),
            "TZ": "UTC",
            "LC_ALL": "C",
        }


def _kubeconfig(address: str, bundle: Bundle) -> str:
    admin = Credentials.from_bundle(bundle)

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    user = {"client-certificate-data": encoded(admin.certificate), "client-key-data": encoded(admin.key.reveal())}
    cluster = {
        "server": f"https://{address}",
        "certificate-authority-data": encoded(admin.authority),
        "tls-server-name": "kubernetes",
    }
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


# What differs from run to run and from server to server, and says nothing.
_PASSING = [
    (r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "<uid>"),
    (r"X509SHA256=[0-9a-f]{64}", "<certificate>"),
    (r'(resourceVersion"?: ?"?)\d+', r"\1<version>"),
    (r"(Resource Version: +)\d+", r"\1<version>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000|Z)", "<time>"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "<time>"),
    (r"[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+", "<log>"),
    (r"\S*/(LIVE|MERGED|kubectl-edit)-\d+", r"\1"),
    (r"\b127\.\d+\.\d+\.\d+:\d+", "<server>"),
    (r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+", "<cluster-ip>"),
    (r"\b3[0-2]\d{3}\b", "<node-port>"),
    (r"(^| )(\d+[ydhms]){1,2}(?= |$)", r"\1<age>"),
    (r" {2,}", "  "),
]
# A watch that kubectl itself gives up ends in its own words over HTTP/1.1, which the lab speaks, and silently over
# HTTP/2. If the machine has no time for it, it tells how long it has held a request back.
_TALK = ("reflector.go:", "Waited before sending request")
# A real server looks after its services' addresses now and then, and tells of one that is only just being given out.
_REPAIRS = re.compile(r"^Events:\n.*\n.*\n(?: .*(?:ip|port)allocator-repair-controller.*\n?)+(?! )", re.MULTILINE)
# Pods have an account only where somebody makes accounts, which is nobody on a real API server by itself.
_ACCOUNT = r"^ *(serviceAccount(Name)?|Service Account): +default$"


def normal(text: str) -> str:
    """Without what passes; ages are as wide as they are, so the width of columns does not count either."""
    lines = []
    for line in _REPAIRS.sub("Events:  <none>\n", text).splitlines():
        if re.search(_ACCOUNT, line) or any(talk in line for talk in _TALK):
            continue
        for pattern, instead in _PASSING:
            line = re.sub(pattern, instead, line)
        lines.append(line.rstrip())
    return "\n".join(_listed(lines))


def _listed(lines: list[str]) -> Iterator[str]:
    """Several complaints about one object come in the order of a Go map, which is another one each time."""
    for is_complaint, group in itertools.groupby(lines, lambda line: line.startswith("* ")):
        found = list(group)
        yield from sorted(found) if is_complaint else found
