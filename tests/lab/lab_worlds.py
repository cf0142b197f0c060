"""Worlds to test in: clusters whose configs are made quickly, and time that moves as fast as it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import rsa

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.schema.contracts import CONTRACTS
from talosmith.model.secret import Secret
from talosmith.model.versions import RECOMMENDED, TALOS_LINES, Version
from talosmith.providers.lab.process import PaceName
from talosmith_lab import configure, hardware, joining, lifecycle, settle
from talosmith_lab.clock import ManualClock
from talosmith_lab.etcd import Cluster
from talosmith_lab.machine import Machine
from talosmith_lab.world import World

VIP = "127.77.0.5"
NEW, OLD = RECOMMENDED.latest, "v1.13.9"
INSTALLER = f"factory.talos.dev/metal-installer/{'3' * 64}"


def quick_bundle() -> Bundle:
    """Secrets of a cluster, with a smaller service account key: the size Talos takes needs seconds."""
    return Bundle(
        cluster_id=pki.to_base64("c" * 32),
        cluster_secret=Secret(pki.to_base64("s" * 32)),
        bootstrap_token=Secret("abcdef.0123456789abcdef"),
        trustd_token=Secret("fedcba.fedcba9876543210"),
        etcd=pki.new_authority("etcd", pki.KeyKind.ECDSA_P256),
        k8s=pki.new_authority("kubernetes", pki.KeyKind.ECDSA_P256),
        k8s_aggregator=pki.new_authority("", pki.KeyKind.ECDSA_P256),
        k8s_service_account=pki.write_key(rsa.generate_private_key(public_exponent=65537, key_size=2048)),
        os=pki.new_authority("talos", pki.KeyKind.ED25519),
        secretbox_encryption_secret=Secret(pki.to_base64("b" * 32)),
    )


@dataclass(frozen=True, slots=True)
class Configs:
    """The configs of one cluster."""

    bundle: Bundle = field(default_factory=quick_bundle)
    name: str = "tested"
    vip: str = VIP
    talos: str = RECOMMENDED.latest

    def text(self, role: str, hostname: str, *more: str, **changes: object) -> str:
        line = Version.parse(self.talos).line
        options = Options(
            cluster_name=self.name,
            endpoint=f"https://{self.vip}:6443",
            kubernetes_version=TALOS_LINES[line].kubernetes.removeprefix("v"),
            install_image=f"{INSTALLER}:{self.talos}",
            contract=CONTRACTS[line],
            install_disk="/dev/vda",
            **changes,  # type: ignore[arg-type]
        )
        documents = generate("controlplane" if role == "controlplane" else "worker", options, self.bundle)
        documents = [one for one in documents if one.get("kind") != "HostnameConfig"]
        parts = [emit(documents), f"apiVersion: v1alpha1\nkind: HostnameConfig\nauto: 'off'\nhostname: {hostname}\n"]
        if role == "controlplane" and self.vip:
            parts.append(f"apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: {self.vip}\nlink: eth0\n")
        return "---\n".join([*parts, *more])


class Lab:
    """A world and a clock of its own. `run` lets everything happen that is going to."""

    def __init__(self, configs: Configs, pace: PaceName = "instant", seed: int = 1) -> None:
        self.configs = configs
        self.clock = ManualClock()
        self.world = World(seed=seed, pace=pace, now=self.clock)

    def run(self, seconds: float = 1e9) -> None:
        settle.run(self.world, self.clock, seconds)

    def machine(self, name: str) -> Machine:
        return self.world.machines[name]

    def create(self, *names: str, **hardware_of: object) -> list[Machine]:
        """Machines that are on, as far as they come by themselves."""
        given = {"version": self.configs.talos, **hardware_of}
        made = [hardware.create(self.world, name, **given) for name in names]  # type: ignore[arg-type]
        for machine in made:
            lifecycle.power_on(self.world, machine)
        self.run()
        return made

    def configure(self, *names: str) -> None:
        for name in names:
            role = "controlplane" if name.startswith("cp") else "worker"
            configure.apply(self.world, self.machine(name), self.configs.text(role, name), "AUTO")
        self.run()

    def cluster_of(self, *names: str) -> Cluster:
        """A cluster of these machines, all ready."""
        self.create(*names)
        self.configure(*names)
        joining.bootstrap(self.world, self.machine(names[0]))
        self.run()
        return self.etcd

    @property
    def etcd(self) -> Cluster:
        (cluster,) = self.world.clusters.values()
        return cluster

    def leader(self) -> str:
        return self.etcd.members[self.etcd.leader].machine if self.etcd.leader else ""

    def events(self, machine: str, kind: str) -> list[dict[str, object]]:
        return [one.payload for one in self.world.records if one.machine == machine and one.kind == kind]

    def stages(self, machine: str) -> list[object]:
        """In the order in which events told of them, each once."""
        told = [payload["stage"] for payload in self.events(machine, "MachineStatusEvent")]
        return [stage for index, stage in enumerate(told) if index == 0 or told[index - 1] != stage]
