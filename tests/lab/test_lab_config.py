"""Configs are taken or refused, at once, later, or for a while."""

from __future__ import annotations

import pytest

from talosmith_lab import configure, naming, sequences
from talosmith_lab.checks import Invalid
from talosmith_lab.configure import Busy
from talosmith_lab.machine import Machine
from tests.lab.lab_worlds import Configs, Lab

LABEL = "machine:\n    nodeLabels:\n        rack: a1\n"


@pytest.fixture
def node(lab: Lab) -> Machine:
    lab.cluster_of("cp-1")
    lab.create("w-1")
    lab.configure("w-1")
    return lab.machine("w-1")


def current(lab: Lab, machine: Machine) -> str:
    return lab.world.texts[machine.run.config] if machine.run else ""


def labelled(text: str) -> str:
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


def test_a_change_that_needs_a_reboot_gets_one_or_is_refused(lab: Lab, node: Machine) -> None:
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
    assert "+        rack: a1" in done.details and done.mode == "NO_REBOOT"
    assert (current(lab, node), node.revision) == (before, revision)
    assert "No changes." in configure.apply(lab.world, node, before, "AUTO", dry_run=True).details


def test_a_dry_run_shows_no_secret(lab: Lab, node: Machine, configs: Configs) -> None:
    other = Configs(name=configs.name)
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
    with pytest.raises(Invalid, match=r"cluster\.controlPlane"):
        configure.apply(lab.world, node, text, "AUTO")


def test_documents_alone_are_for_maintenance_mode(lab: Lab, node: Machine) -> None:
    document = "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: there\nurl: tcp://127.0.0.1:1\n"
    with pytest.raises(Invalid, match="doesn't contain v1alpha1"):
        configure.apply(lab.world, node, document, "AUTO")
    (fresh,) = lab.create("w-2")
    configure.apply(lab.world, fresh, document, "AUTO")
    lab.run()
    assert fresh.run and fresh.run.stage == "maintenance"


def test_what_only_a_machine_can_know(lab: Lab, configs: Configs) -> None:
    (machine,) = lab.create("w-1")
    text = configs.text("worker", "w-1")
    selector = text.replace("disk: /dev/vda", "diskSelector:\n            serial: NOTHERE")
    with pytest.raises(Invalid, match="no disks matched"):
        configure.apply(lab.world, machine, selector, "AUTO")
    with pytest.raises(Invalid, match="too old"):
        configure.apply(lab.world, machine, text.replace("kubelet:v1.36.3", "kubelet:v1.20.0"), "AUTO")
    fitting = text.replace("disk: /dev/vda", f"diskSelector:\n            serial: {machine.disks[0].serial}")
    configure.apply(lab.world, machine, fitting, "AUTO")
    lab.run()
    assert machine.system is not None


def test_an_older_talos_does_not_know_newer_documents(lab: Lab, configs: Configs) -> None:
    (machine,) = lab.create("w-1", version="v1.11.6")
    with pytest.raises(Invalid, match='"HostnameConfig" "v1alpha1": not registered'):
        configure.apply(lab.world, machine, configs.text("worker", "w-1"), "AUTO")


def test_a_node_moves_to_the_address_its_config_says(lab: Lab, configs: Configs) -> None:
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
