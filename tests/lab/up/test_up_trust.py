"""A machine without a config shows a certificate that nobody vouches for: who it is must be told, or risked."""

from __future__ import annotations

import pytest

from talosmith.engine.journal import Journal
from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import Here
from tests.waiting import until

pytestmark = pytest.mark.slow

LIMIT = ("--limit", "200")  # seconds; no step takes one
INVENTORY = """\
cluster_name: mine
talos_version: v1.14.1
kubernetes_version: v1.37.1
metal: {{}}
network: {{node_cidr: {network}, vip: {vip}}}
controlplane: [{{name: cp-1, ip: {address}, disk: /dev/vda, interface: eth0{fingerprint}}}]
workers: 0
"""


def waiting(here: Here) -> str:
    """The fingerprint of a machine that is simply there; from now on its address is all that the inventory has."""
    here.write(1, 0)
    lab = here.make_lab()
    lab.create_machine("cp-1", address=address(here))
    until(lambda: lab.machine("cp-1")["stage"] == "maintenance")
    write(here)
    return str(lab.machine("cp-1")["fingerprint"])


def address(here: Here) -> str:
    return here.network.replace(".0/24", ".10")


def write(here: Here, fingerprint: str = "") -> None:
    given = f", fingerprint: '{fingerprint}'" if fingerprint else ""
    vip = here.network.replace(".0/24", ".99")
    text = INVENTORY.format(network=here.network, vip=vip, address=address(here), fingerprint=given)
    (here.folder / "cluster.yaml").write_text(text)


def has_its_secrets(here: Here) -> bool:
    return here.done("ApplyConfiguration") > 0


def test_without_a_fingerprint_nothing_is_given_away_unless_that_is_said(here: Here) -> None:
    shown = waiting(here)
    refused = here.up(*LIMIT)
    assert refused.code == 1, refused.said
    assert f"nothing proves that the machine at {address(here)}" in refused.said and shown in refused.said
    assert "--trust-first-use" in refused.said and "console" in refused.said
    assert not has_its_secrets(here)
    trusted = here.up(*LIMIT, "--trust-first-use")
    assert trusted.code == 0, trusted.said
    one_etcd(here, ["cp-1"])
    with Journal(here.state_folder) as journal:
        told = [event.text for event in journal.events_of(journal.runs()[-1].number)]
    assert f"cp-1: trusted at first use, with the fingerprint {shown}" in told


@pytest.mark.parametrize("trusting", [(), ("--trust-first-use",)], ids=["plain", "trusting"])
def test_with_another_fingerprint_nothing_is_given_away_at_all(here: Here, trusting: tuple[str, ...]) -> None:
    shown = waiting(here)
    write(here, "A" * 43 + "=")
    refused = here.up(*LIMIT, *trusting)
    assert refused.code == 6 and shown in refused.said, refused.said
    assert not has_its_secrets(here)
    write(here, shown)
    again = here.up(*LIMIT)
    assert again.code == 0, again.said
    one_etcd(here, ["cp-1"])
