"""Configs are taken or refused, at once, later, or for a while."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from talosmith_lab import configure, naming, sequences
from talosmith_lab.checks import Invalid
from talosmith_lab.configure import Busy, Unsupported
from talosmith_lab.machine import Machine
from tests.lab.lab_worlds import OLD, Configs, Lab

LABEL = "machine:\n    nodeLabels:\n        rack: a1\n"


@pytest.fixture(params=["v1.14", "v1.13"])
def lab(request: pytest.FixtureRequest, configs: Configs) -> Lab:
    """What both versions do alike is tested on both."""
    return Lab(replace(configs, talos=OLD if request.param == "v1.13" else configs.talos))


@pytest.fixture
def node(lab: Lab) -> Machine:
    return worker_of(lab)


def worker_of(lab: Lab) -> Machine:
    lab.cluster_of("cp-1")
    lab.create("w-1")
    lab.configure("w-1")
    return lab.machine("w-1")


def current(lab: Lab, machine: Machine) -> str:
    return lab.world.texts[machine.run.config] if machine.run else ""


def labelled(text: str) -> str:
    kind = "kind: KubeNodeConfig\n"
    if kind in text:
        return text.replace(kind, f"{kind}labels:\n    rack: a1\n", 1)
    return text.replace("    features:\n", "    nodeLabels:\n        rack: a1\n    features:\n", 1)


def with_file(text: str) -> str:
    """A change that only takes effect after a reboot."""
    file = "        - content: x\n          permissions: 0o644\n          path: /var/x\n          op: create\n"
    return text.replace("    features:\n", f"    files:\n{file}    features:\n", 1)


def test_a_change_that_can_be_made_at_once_is(lab: Lab, node: Machine) -> None:
    done = configure.apply(lab.world, node, labelled(current(lab, node)), "AUTO")
    boots = node.boots
    lab.run()
    assert done.mode == "NO_REBOOT" and node.boots == boots
    assert lab.world.config(node).labels == {"rack": "a1"}  # type: ignore[union-attr]
    assert node.system.config == node.run.config  # type: ignore[union-attr]


def test_a_change_that_needs_a_reboot_gets_one_or_is_refused_up_to_1_13(old_lab: Lab) -> None:
    lab, node = old_lab, worker_of(old_lab)
    text = with_file(current(lab, node))
    with pytest.raises(Invalid, match=r"machine\.files"):
        configure.apply(lab.world, node, text, "NO_REBOOT")
    with pytest.raises(Invalid, match=r"machine\.files"):
        configure.apply(lab.world, node, text, "TRY")
    boots = node.boots
    done = configure.apply(lab.world, node, text, "AUTO")
    assert done.mode == "REBOOT" and "machine.files" in done.details
    with pytest.raises(Busy, match="rebooting"):
        configure.apply(lab.world, node, text, "AUTO")
    lab.run()
    assert node.boots == boots + 1 and current(lab, node) == text


def test_a_staged_config_waits_for_the_next_boot(lab: Lab, node: Machine) -> None:
    before, text = current(lab, node), labelled(current(lab, node))
    configure.apply(lab.world, node, text, "STAGED")
    lab.run()
    assert current(lab, node) == before
    sequences.request(lab.world, node, "reboot")
    lab.run()
    assert current(lab, node) == text


def test_a_tried_config_goes_away_again(lab: Lab, node: Machine) -> None:
    before, text = current(lab, node), labelled(current(lab, node))
    done = configure.apply(lab.world, node, text, "TRY", try_seconds=90)
    assert "reverted back in 1m30s" in done.details
    lab.run(89)
    assert current(lab, node) == text
    lab.run(2)
    assert current(lab, node) == before


def test_a_tried_config_that_is_applied_stays(lab: Lab, node: Machine) -> None:
    text = labelled(current(lab, node))
    configure.apply(lab.world, node, text, "TRY", try_seconds=90)
    lab.run(10)
    configure.apply(lab.world, node, text, "NO_REBOOT")
    lab.run(1000)
    assert current(lab, node) == text


def test_a_tried_config_does_not_survive_a_reboot(lab: Lab, node: Machine) -> None:
    before = current(lab, node)
    configure.apply(lab.world, node, labelled(before), "TRY", try_seconds=1e6)
    sequences.request(lab.world, node, "reboot")
    lab.run(100)
    assert current(lab, node) == before


def test_a_dry_run_tells_and_changes_nothing(lab: Lab, node: Machine) -> None:
    before = current(lab, node)
    revision = node.revision
    done = configure.apply(lab.world, node, labelled(before), "AUTO", dry_run=True)
    assert re.search(r"^\+ +rack: a1$", done.details, re.MULTILINE) and done.mode == "NO_REBOOT"
    assert (current(lab, node), node.revision) == (before, revision)
    assert "No changes." in configure.apply(lab.world, node, before, "AUTO", dry_run=True).details


def test_a_dry_run_shows_no_secret(lab: Lab, node: Machine, configs: Configs) -> None:
    other = Configs(name=configs.name, talos=lab.configs.talos)
    done = configure.apply(lab.world, node, other.text("worker", "w-1"), "AUTO", dry_run=True)
    for secret in (configs.bundle.trustd_token, other.bundle.cluster_secret):
        assert secret.reveal() not in done.details


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("", "no machine config"),
        ("machine: {", "not YAML"),
        ("machine:\n  typo: 1\n", "typo"),
        ("apiVersion: v1alpha1\nkind: Nonsense\n", "Nonsense"),
    ],
)
def test_what_talos_cannot_load_is_refused(lab: Lab, node: Machine, wrong: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        configure.apply(lab.world, node, wrong, "AUTO")


def test_what_talos_finds_invalid_is_refused(lab: Lab, node: Machine) -> None:
    text = current(lab, node).replace("https://127.77.0.5:6443", "not a url at all")
    with pytest.raises(Invalid, match=r"cluster\.controlPlane|KubeClusterConfig"):
        configure.apply(lab.world, node, text, "AUTO")


def test_documents_alone_are_for_maintenance_mode(lab: Lab, node: Machine) -> None:
    document = "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: there\nurl: tcp://127.0.0.1:1\n"
    with pytest.raises(Invalid, match="doesn't contain v1alpha1"):
        configure.apply(lab.world, node, document, "AUTO")
    (fresh,) = lab.create("w-2")
    configure.apply(lab.world, fresh, document, "AUTO")
    lab.run()
    assert fresh.run and fresh.run.stage == "maintenance"


def test_a_kubelet_that_this_talos_does_not_run(lab: Lab) -> None:
    (machine,) = lab.create("w-1")
    with pytest.raises(Invalid, match="too old"):
        text = re.sub(r"kubelet:v[0-9.]+", "kubelet:v1.20.0", lab.configs.text("worker", "w-1"))
        configure.apply(lab.world, machine, text, "AUTO")


def test_what_only_a_machine_can_know(old_lab: Lab) -> None:
    lab = old_lab
    (machine,) = lab.create("w-1")
    text = lab.configs.text("worker", "w-1")
    selector = text.replace("disk: /dev/vda", "diskSelector:\n            serial: NOTHERE")
    with pytest.raises(Invalid, match="no disks matched"):
        configure.apply(lab.world, machine, selector, "AUTO")
    fitting = text.replace("disk: /dev/vda", f"diskSelector:\n            serial: {machine.disks[0].serial}")
    configure.apply(lab.world, machine, fitting, "AUTO")
    lab.run()
    assert machine.system is not None


def test_an_older_talos_does_not_know_newer_documents(old_lab: Lab, configs: Configs) -> None:
    (machine,) = old_lab.create("w-1", version="v1.11.6")
    with pytest.raises(Invalid, match='"HostnameConfig" "v1alpha1": not registered'):
        configure.apply(old_lab.world, machine, old_lab.configs.text("worker", "w-1"), "AUTO")
    (machine,) = old_lab.create("w-2")
    with pytest.raises(Invalid, match='"DiscoveryServiceConfig" "v1alpha1": not registered'):
        configure.apply(old_lab.world, machine, configs.text("worker", "w-2"), "AUTO")


def test_an_older_talos_does_not_know_newer_fields(old_lab: Lab) -> None:
    (machine,) = old_lab.create("w-1")
    trim = "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\ntrim:\n    enabled: true\n"
    with pytest.raises(Invalid, match=r"unknown keys found during decoding:\nVolumeConfig\.trim"):
        configure.apply(old_lab.world, machine, old_lab.configs.text("worker", "w-1", trim), "AUTO")


def test_a_node_moves_to_the_address_its_config_says(lab: Lab) -> None:
    configs = lab.configs
    (machine,) = lab.create("cp-1")
    assert naming.addresses(lab.world, machine) == ["127.77.0.11"]
    link = "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses:\n    - address: {}\n"
    configure.apply(lab.world, machine, configs.text("controlplane", "cp-1", link.format("127.77.3.4/16")), "AUTO")
    lab.run()
    assert naming.addresses(lab.world, machine) == ["127.77.3.4"]
    elsewhere = configs.text("controlplane", "cp-1", link.format("192.0.2.7/24"))
    configure.apply(lab.world, machine, elsewhere, "AUTO")
    # It cannot be reached there from this computer, so it stays where it is too.
    assert naming.addresses(lab.world, machine) == ["127.77.0.11", "192.0.2.7"]


class TestTalos114:
    """From 1.14 on every change is applied without a reboot, and reboots are left to the caller."""

    @pytest.fixture
    def lab(self, configs: Configs) -> Lab:
        return Lab(configs)

    @pytest.fixture
    def node(self, lab: Lab) -> Machine:
        return worker_of(lab)

    def test_the_mode_reboot_is_gone(self, lab: Lab, node: Machine) -> None:
        before = current(lab, node)
        with pytest.raises(Unsupported, match="the REBOOT mode is not supported, please use AUTO or NO_REBOOT"):
            configure.apply(lab.world, node, labelled(before), "REBOOT")
        assert current(lab, node) == before

    @pytest.mark.parametrize("mode", ["AUTO", "NO_REBOOT"])
    def test_what_takes_effect_with_a_reboot_is_applied_all_the_same(
        self, lab: Lab, node: Machine, mode: configure.Mode
    ) -> None:
        text, boots = with_file(current(lab, node)), node.boots
        done = configure.apply(lab.world, node, text, mode)
        lab.run()
        assert (done.mode, done.details) == ("NO_REBOOT", "Applied configuration without a reboot")
        assert (current(lab, node), node.boots) == (text, boots)

    def test_a_refused_config_or_a_dry_run_does_not_end_a_trial(self, lab: Lab, node: Machine) -> None:
        before = current(lab, node)
        configure.apply(lab.world, node, labelled(before), "TRY", try_seconds=90)
        with pytest.raises(Invalid):
            configure.apply(lab.world, node, "machine:\n  typo: 1\n", "AUTO")
        configure.apply(lab.world, node, before, "AUTO", dry_run=True)
        lab.run(91)
        assert current(lab, node) == before


def test_any_call_ends_a_trial_up_to_1_13(old_lab: Lab) -> None:
    lab, node = old_lab, worker_of(old_lab)
    tried = labelled(current(lab, node))
    configure.apply(lab.world, node, tried, "TRY", try_seconds=90)
    with pytest.raises(Invalid):
        configure.apply(lab.world, node, "machine:\n  typo: 1\n", "AUTO")
    lab.run(91)
    assert current(lab, node) == tried
