"""No secret is in a plan, in any format, not even in one that replaces every secret of a machine config."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import write_key
from talosmith.desired.target import Desired
from talosmith.model.secret import Secret
from talosmith.observed.config_differences import config_differences
from talosmith.observed.world import Observed
from talosmith.operations import up
from talosmith.operations.operation import Facts
from talosmith.report import diff, plan_markdown
from talosmith.report import plan as plan_report
from talosmith.report.data import as_json, as_yaml
from talosmith.report.style import Style
from tests import rsa_keys
from tests.plans.plan_worlds import bundle, desired, observed

PLAIN = Style(io.StringIO())


def secrets_of(value: Any, key: str = "") -> set[str]:
    if isinstance(value, dict):
        return {one for name, inner in value.items() for one in secrets_of(inner, name)}
    return {value} if isinstance(value, str) and key != "crt" and len(value) >= 8 else set()


def with_other_secrets(state: str) -> tuple[Desired, Observed, set[str]]:
    wanted = desired({"controlplane": 1, "workers": 1})
    other = Bundle.generate(contract=(1, 13))
    other = replace(other, k8s_service_account=write_key(rsa_keys.generate(65537, rsa_keys.BITS)))
    theirs = Desired(wanted.cluster, other)
    seen = observed(wanted, {"cp-1": state, "w-1": "booting" if state == "waiting" else state}, etcd={}, api=None)
    nodes = {
        name: replace(one, config=Secret(theirs.nodes[name].config.reveal()), config_digest=theirs.nodes[name].digest)
        for name, one in seen.nodes.items()
    }
    known = secrets_of(bundle().to_mapping()) | secrets_of(other.to_mapping())
    assert len(known) == 20
    return wanted, replace(seen, nodes=nodes), known


@pytest.mark.slow
def test_a_plan_that_replaces_all_secrets_shows_none_of_them() -> None:
    """Before there is etcd, other secrets are applied; each is shown as changed, and masked."""
    for state in ("waiting", "ready"):
        wanted, seen, known = with_other_secrets(state)
        plan = up.build(wanted, seen, up.UpOptions(), Facts())
        found = config_differences(wanted, seen, wanted.nodes)
        data = plan.as_data()
        texts = [
            plan_report.as_text(plan, PLAIN),
            plan_report.as_text(plan, PLAIN, 80),
            plan_markdown.as_markdown(plan),
            as_json(data),
            as_yaml(data),
            repr(plan),
            diff.live_text(found, PLAIN),
            as_json(diff.live_data(found)),
        ]
        assert not [secret for secret in known for text in texts if secret in text]
        assert "machine.token: *** → *** (changed)" in texts[6]
        if state == "waiting":
            assert "~ cluster.secret: *** → *** (changed)" in texts[0]
        else:
            assert [str(one).partition(";")[0] for one in plan.blocked] == [
                "cp-1, w-1: the cluster runs with other secrets, and `up` does not rotate secrets"
            ]


def test_a_live_config_that_is_not_known_is_not_in_sync() -> None:
    wanted = desired({"controlplane": 1, "workers": 4})
    told = {"cp-1": "ready", "w-1": "maintenance", "w-2": "gone", "w-3": "silent", "w-4": "off"}
    seen = observed(wanted, told, etcd={}, api=None)
    found = {one.node: (one.state, one.why) for one in config_differences(wanted, seen, wanted.nodes)}
    assert found == {
        "cp-1": ("same", ""),
        "w-1": ("unknown", "node is in maintenance mode and has no machine config"),
        "w-2": ("unknown", "machine does not exist"),
        "w-3": ("unknown", "connection refused"),
        "w-4": ("unknown", "its machine is off"),
    }
