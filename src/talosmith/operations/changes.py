"""Changes of existing nodes: machine configs and sizes. The least disruptive way, one control plane at a time."""

from __future__ import annotations

from collections.abc import Sequence

from talosmith.desired.config.changes import changed_fields
from talosmith.desired.config.compare import differing_paths
from talosmith.desired.config.load import load
from talosmith.desired.config.reboot import needs_reboot
from talosmith.desired.target import Desired, DesiredNode, StepConfig
from talosmith.model.machines import Machine, MachineSpec, size_changes
from talosmith.model.resources import Setting, SettingChange
from talosmith.model.secret import Secret
from talosmith.observed.world import NodeSeen, Observed, Unknown
from talosmith.operations.config_changes import RECREATE, listed, refusal, remarks
from talosmith.operations.resources import stands_on
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.gate import as_effect, judge
from talosmith.plan.step import StepKey
from talosmith.plan.turns import Turns
from talosmith.providers.base import Capabilities
from talosmith.steps.change_config import ChangeConfig
from talosmith.steps.context import Context
from talosmith.steps.machines import ResizeMachine, only_grows
from talosmith.steps.nodes import Reboot

_NETWORK = (
    "machine.network", "LinkConfig", "LinkAliasConfig", "BondConfig", "VLANConfig", "BridgeConfig", "DummyLinkConfig",
    "VethConfig", "VRFConfig", "WireguardConfig", "EthernetConfig", "DHCPv4Config", "DHCPv6Config", "ResolverConfig",
    "Layer2VIPConfig", "HCloudVIPConfig", "RoutingRuleConfig", "BlackholeRouteConfig", "BGPInstanceConfig",
    "NetworkDefaultActionConfig", "NetworkRuleConfig",
)  # fmt: skip
# Changes that Talos takes up without a reboot, and for which no component of a control plane restarts.
_RESTARTS_NOTHING = (
    "cluster.extraManifests", "cluster.inlineManifests", "cluster.externalCloudProvider", "cluster.discovery",
    "cluster.adminKubeconfig", "cluster.allowSchedulingOnControlPlanes", "cluster.coreDNS", "cluster.proxy",
)  # fmt: skip
# Documents whose changes restart static pods of a control plane.
_RESTARTING_KINDS = (
    "KubeAPIServerConfig", "KubeAPIServerCAConfig", "KubeAggregatorCAConfig", "KubeServiceAccountConfig",
    "KubeAdmissionControlConfig", "KubeAuditPolicyConfig", "KubeAuthenticationConfig", "KubeAuthorizerConfig",
    "KubeControllerManagerConfig", "KubeSchedulerConfig", "KubeEtcdEncryptionConfig", "KubeNetworkConfig",
    "KubeClusterConfig",
)  # fmt: skip
# From 1.14 on Talos restarts CRI for these, and with it etcd and kubelet; before, they need a reboot.
_RESTARTING_CRI = (
    "machine.baseRuntimeSpecOverrides", "machine.files", "RegistryAuthConfig", "CRICustomizationConfig",
    "CRIBaseRuntimeSpecConfig",
)  # fmt: skip


def _turns(plan: PlanBuilder[Context], desired: Desired, observed: Observed, max_unavailable: int) -> Turns:
    changing = {name for name, node in desired.nodes.items() if _differs(node, observed.nodes[name])}
    return Turns(plan, changing=changing, max_unavailable=max_unavailable)


def _needs(turns: Turns, wanted: DesiredNode, key: StepKey, *, disturbing: bool) -> list[StepKey]:
    """Workers wait for their turn only if they are going to be disturbed."""
    resize = ResizeMachine.key_of(wanted.name)
    own = [resize.if_planned] if key != resize else []
    waits = wanted.is_controlplane or disturbing
    return [*own, *(turns.take(key, is_controlplane=wanted.is_controlplane) if waits else ())]


def change_config(
    plan: PlanBuilder[Context], desired: Desired, observed: Observed, *, max_unavailable: int = 1
) -> None:
    turns = _turns(plan, desired, observed, max_unavailable)
    running = observed.bootstrapped is not False
    noted: dict[str, list[str]] = {}
    for wanted in _broken_first(desired, observed):
        seen = observed.nodes[wanted.name]
        if not seen.configured or seen.foreign_reason:
            continue
        if isinstance(seen.config, Unknown):
            plan.note(f"{wanted.name}: machine config could not be read: {seen.config.why}")
        elif isinstance(seen.config, Secret) and seen.config_digest != wanted.digest:
            before, after = (load(one.reveal(), wanted.name) for one in (seen.config, wanted.config))
            paths, changed = differing_paths(before, after), changed_fields(before, after)
            if (why := refusal(before, after, paths, changed, running=running)) is not None:
                plan.block(why.cause, wanted.name, settings=why.settings, fix=why.fix, symptoms=why.symptoms)
                continue
            for remark in remarks(before, after):
                noted.setdefault(remark, []).append(wanted.name)
            rebooting = needs_reboot(before, after, desired.cluster.talos_version)
            _change(
                plan, turns, observed, wanted, config_change(wanted, paths, rebooting, changed=changed), rebooting
            )
        elif seen.pending_reboot:
            reboot = Reboot(wanted.name, wanted.is_controlplane)
            needs = _needs(turns, wanted, reboot.key, disturbing=True)
            plan.add(
                reboot,
                "a staged machine config takes effect with a reboot",
                needs=needs,
                effect=_effect(observed, wanted),
            )
    for what, names in noted.items():
        plan.note(f"{', '.join(names)}: {what}")


def _broken_first(desired: Desired, observed: Observed) -> list[DesiredNode]:
    """Nodes that are not ready come first: the change may repair them, and until then the gate stops the others."""
    return sorted(desired.nodes.values(), key=lambda node: observed.nodes[node.name].ready)


def _differs(wanted: DesiredNode, seen: NodeSeen) -> bool:
    return seen.configured and (seen.config_digest != wanted.digest or seen.pending_reboot)


def _change(
    plan: PlanBuilder[Context],
    turns: Turns,
    observed: Observed,
    wanted: DesiredNode,
    action: ChangeConfig,
    rebooting: Sequence[str],
) -> None:
    reason = "machine config differs" + (f"; reboot needed for {listed(rebooting)}" if rebooting else "")
    effect = _effect(observed, wanted) if rebooting else ""
    plan.add(action, reason, needs=_needs(turns, wanted, action.key, disturbing=bool(rebooting)), effect=effect)


def config_change(
    wanted: DesiredNode,
    paths: Sequence[str],
    rebooting: Sequence[str],
    own: StepConfig | None = None,
    changed: tuple[SettingChange, ...] = (),
) -> ChangeConfig:
    """The step that changes these fields; with `own`, to a config on the way to that of the inventory."""
    network = any(path.startswith(_NETWORK) for path in paths)
    restarts = wanted.is_controlplane and not rebooting and any(map(_restarts_components, paths))
    return ChangeConfig(wanted.name, bool(rebooting), network, wanted.is_controlplane, restarts, own, changed)


def _restarts_components(path: str) -> bool:
    if path.startswith((*_RESTARTING_KINDS, *_RESTARTING_CRI)):
        return True
    if path.startswith("machine.registries.config"):
        return ".auth" in path
    return path.startswith(("cluster.", "machine.controlPlane")) and not path.startswith(_RESTARTS_NOTHING)


def resize(
    plan: PlanBuilder[Context],
    desired: Desired,
    observed: Observed,
    can: Capabilities,
    *,
    max_unavailable: int = 1,
) -> None:
    turns = _turns(plan, desired, observed, max_unavailable)
    for wanted in desired.nodes.values():
        machine = observed.nodes[wanted.name].machine
        if not isinstance(machine, Machine) or machine.unfinished:
            continue
        changed = _sizes(machine, wanted.machine)
        outdated = "; ".join(filter(None, (machine.outdated, machine.outdated_running)))
        if machine.fixed:
            fix = f"set these of the node to what the machine has, or {RECREATE}"
            plan.block("machine cannot be changed in place", wanted.name, settings=machine.fixed, fix=fix)
        elif _shrinks(machine, wanted.machine):
            disks = SettingChange("disks", _mib(machine.disks_mib), _mib(wanted.machine.disks_mib))
            fix = f"set the disk sizes back, or {RECREATE}"
            plan.block(
                "disks cannot shrink in place: their data would be lost", wanted.name, settings=[disks], fix=fix
            )
        elif (changed or outdated) and not can.resizes:
            sizes = ", ".join([*map(str, changed), *filter(None, [outdated])])
            plan.note(f"{wanted.name}: {sizes}: this provider cannot resize machines")
        elif changed or outdated:
            running = only_grows(machine, wanted.machine)
            action = ResizeMachine(
                wanted.name, outdated, wanted.is_controlplane, running, can.calls("resize"), changed
            )
            needs = _needs(turns, wanted, action.key, disturbing=not running)
            effect = "" if running else _effect(observed, wanted)
            below = stands_on(observed, wanted.name)
            plan.add(action, "machine differs from the inventory", needs=needs, requires=below, effect=effect)


def _shrinks(machine: Machine, spec: MachineSpec) -> bool:
    if not spec.disks_mib:
        return False
    smaller = any(new < old for old, new in zip(machine.disks_mib, spec.disks_mib, strict=False))
    return smaller or len(spec.disks_mib) < len(machine.disks_mib)


def _sizes(machine: Machine, spec: MachineSpec) -> tuple[SettingChange, ...]:
    """Sizes before and after, each with its unit: `memory: 2048 MiB → 4096 MiB`."""
    found: list[SettingChange] = []
    for what, old, new in size_changes(machine, spec):
        unit, _, name = what.rpartition(" of ")
        found.append(SettingChange(name, f"{old} {unit}", f"{new} {unit}") if unit else SettingChange(name, old, new))
    return tuple(found)


def _mib(sizes: Sequence[int]) -> list[Setting]:
    return [f"{size} MiB" for size in sizes]


def _effect(observed: Observed, wanted: DesiredNode) -> str:
    if not wanted.is_controlplane:
        return ""
    return as_effect(judge("restart", wanted.name, observed.etcd()))
