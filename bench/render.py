"""Machine configs of 1,000 nodes with three patches, next to talhelper; a fresh bundle; opening the secrets file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Cost, Result, command, python
from tools.peers import find

VERSIONS = ("v1.13.9", "v1.36.3")
PATCHES = (
    "machine:\n  sysctls:\n    net.core.somaxconn: \"65535\"\n",
    "machine:\n  kubelet:\n    extraArgs:\n      rotate-server-certificates: \"true\"\n",
    "cluster:\n  apiServer:\n    extraArgs:\n      feature-gates: A=true\n",
)  # fmt: skip


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        secrets = folder / "talsecret.yaml"
        subprocess.run([find("talosctl"), "gen", "secrets", "-o", secrets], check=True, capture_output=True)
        ours = {count: _ours(folder, count, secrets) for count in (100, 1_000)}
        idle = python("import talosmith.desired.machine, talosmith.inventory")
        theirs = _talhelper(folder, 1_000, "--no-gitignore")
        slow = _talhelper(folder, 1_000, runs=1)
        large = ours[1_000]
        figures = f"{theirs.cpu:.2f} s against {large.cpu:.2f} s of CPU, {theirs.mib:.0f} against {large.mib:.0f} MiB"
        yield Result(
            "talhelper --no-gitignore / ours, 1,000 nodes", figures, theirs.cpu / large.cpu, 5, at_least=True
        )
        yield Result("talhelper as it is / ours", f"{slow.cpu:.2f} s", slow.cpu / large.cpu, 20, at_least=True)
        growth = (ours[1_000].cpu - idle.cpu) / (ours[100].cpu - idle.cpu)
        yield Result("cpu(1,000) / cpu(100), start-up taken off", f"start-up {idle.cpu:.2f} s", growth, 12)
        yield _bundle()
        yield _opening(folder, secrets)


def _ours(folder: Path, count: int, secrets: Path) -> Cost:
    """From files to files: load, render, validate, write."""
    inventory = folder / f"ours-{count}"
    (inventory / "patches" / "global").mkdir(parents=True)
    for number, patch in enumerate(PATCHES):
        (inventory / "patches" / "global" / f"{number}.yaml").write_text(patch)
    talos, kubernetes = VERSIONS
    (inventory / "cluster.yaml").write_text(
        f"cluster_name: large\ntalos_version: {talos}\nkubernetes_version: {kubernetes}\n"
        "network: {node_cidr: 10.64.0.0/14, vip: 10.64.0.9, pod_cidr: 10.128.0.0/9}\nmetal:\n"
        f"controlplane: {{count: 3, disk: /dev/sda, interface: eth0}}\n"
        f"workers: {{count: {count - 3}, disk: /dev/sda, interface: eth0}}\n"
    )
    code = f"""
import yaml
from pathlib import Path
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
cluster = load({str(inventory)!r})
bundle = Bundle.from_mapping(yaml.safe_load(Path({str(secrets)!r}).read_text()))
out = Path({str(folder / "out")!r}); out.mkdir(exist_ok=True)
for node, config in MachineConfigs(cluster, bundle):
    (out / f"{{node.name}}.yaml").write_text(config.text)
"""
    return python(code)


def _talhelper(folder: Path, count: int, *flags: str, runs: int = 3) -> Cost:
    talos, kubernetes = VERSIONS
    nodes = "".join(
        f"  - hostname: {'cp' if number < 3 else 'w'}-{number}\n    ipAddress: 10.65.{number >> 8}.{number & 255}\n"
        f"    controlPlane: {'true' if number < 3 else 'false'}\n    installDisk: /dev/sda\n"
        "    networkInterfaces:\n      - interface: eth0\n"
        f"        addresses: [10.65.{number >> 8}.{number & 255}/14]\n"
        "        routes: [{network: 0.0.0.0/0, gateway: 10.64.0.1}]\n"
        for number in range(count)
    )
    patches = "".join("  - |-\n" + "".join(f"    {line}\n" for line in patch.splitlines()) for patch in PATCHES)
    (folder / "talconfig.yaml").write_text(
        f"clusterName: large\ntalosVersion: {talos}\nkubernetesVersion: {kubernetes}\nendpoint: https://10.64.0.9:6443\n"
        f"patches:\n{patches}nodes:\n{nodes}"
    )
    arguments = [
        "genconfig",
        "--offline-mode",
        *flags,
        "-c",
        folder / "talconfig.yaml",
        "-s",
        folder / "talsecret.yaml",
    ]
    return command([find("talhelper"), *arguments, "-o", folder / "clusterconfig"], runs=runs)


def _bundle() -> Result:
    """RSA keys take a random time, so the keys are timed that the bundles themselves draw."""
    code = """
import time
from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
real, rsa = pki.new_key, [0.0]
def timed(kind):
    started = time.process_time()
    key = real(kind)
    if kind is pki.KeyKind.RSA_4096:
        rsa[0] += time.process_time() - started
    return key
pki.new_key = timed
import talosmith.desired.bundle as module
if hasattr(module, "new_key"):
    module.new_key = timed
started = time.process_time()
for _ in range(3):
    Bundle.generate()
print((time.process_time() - started) / rsa[0], rsa[0] / 3)
"""
    ratio, seconds = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    return Result("a fresh bundle / its RSA-4096 key", f"{float(seconds):.2f} s a key", float(ratio), 1.2)


def _opening(folder: Path, secrets: Path) -> Result:
    key = folder / "key.txt"
    subprocess.run([find("age-keygen"), "-o", key], check=True, capture_output=True)
    recipient = next(line.split()[-1] for line in key.read_text().splitlines() if "public key" in line)
    sealed = folder / "secrets.sops.yaml"
    sealed.write_text(secrets.read_text())
    environment = {"SOPS_AGE_KEY_FILE": str(key), "HOME": str(folder)}
    subprocess.run([find("sops"), "-e", "-i", "--age", recipient, sealed], check=True, env=os.environ | environment)
    peer = command([find("sops"), "-d", sealed], environment=environment, runs=5)
    code = f"""
import os, time
os.environ["SOPS_AGE_KEY_FILE"] = {str(key)!r}
from pathlib import Path
from talosmith.inventory import sops
sops.load(Path({str(sealed)!r}))
best = 9.0
for _ in range(50):
    started = time.process_time()
    sops.load(Path({str(sealed)!r}))
    best = min(best, time.process_time() - started)
print(best)
"""
    ours = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    figures = f"{peer.cpu * 1000:.0f} ms against {ours * 1000:.1f} ms of CPU"
    return Result("sops -d / opening it ourselves", figures, peer.cpu / ours, 20, at_least=True)
