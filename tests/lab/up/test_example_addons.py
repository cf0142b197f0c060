"""Examples whose machines a lab can stand for: from nothing to a cluster with all of its add-ons Ready.

With stand-ins for the charts; in the real tier with the real charts, as far as a Go module carries them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from talosmith.desired.secrets_file import set_secret
from talosmith.inventory import load
from talosmith.model.secret import Secret
from tests.addon_charts import mirrors_block, offer_addons
from tests.chart_server import ChartServer, serving
from tests.lab.up.places import Here
from tools.peers.helm_recipes import CHARTS, find_chart

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
NETWORKS = {"homelab": "192.168.1.", "libvirt-ha": "10.0.0."}
PROVIDERS = {"homelab": "metal: {}\n", "libvirt-ha": None}
SECRETS = ("cloudflare.token", "cloudflare.tunnel", "backup.access_key", "backup.secret_key")
ADDONS = {
    "homelab": {
        "cilium", "coredns", "spegel", "reloader", "cert-manager", "envoy-gateway", "gateway-api", "metrics-server",
        "talos-ccm", "external-dns", "k8s-gateway", "cloudflared", "talos-backup",
    },
    "libvirt-ha": {"csi-driver-nfs"},
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[ChartServer]:
    with serving() as made:
        yield made


def real_charts() -> dict[str, Path]:
    return {
        name: find_chart(module, name) for module in CHARTS if "bitnami" not in module.module for name in module.names
    }


def in_the_lab(here: Here, example: str) -> None:
    """The example with a lab in place of its provider, at addresses of this computer; all else is as it stands."""
    for path in (EXAMPLES / example).iterdir():
        if path.is_dir():
            shutil.copytree(path, here.folder / path.name)
        else:
            shutil.copy(path, here.folder)
    inventory = here.folder / "cluster.yaml"
    text = inventory.read_text()
    if example == "homelab":
        text = text.replace("metal: {}\n", "lab: {clock: instant}\n")
    else:
        before, _, rest = text.partition("libvirt:\n")
        text = before + "lab: {clock: instant}\n\n" + rest[rest.index("# Installed once") :]
    inventory.write_text(text)
    prefix = here.network.removesuffix("0/24")
    for file in here.folder.glob("*.yaml"):
        if "sops" not in file.name:
            text = file.read_text().replace(NETWORKS[example], prefix)
            file.write_text(re.sub(r"disk: (S4EW\w+|/dev/nvme0n1)", "disk: /dev/vda", text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", here.env["XDG_CONFIG_HOME"])
        for name in SECRETS:
            set_secret(here.folder, name, Secret(f"the-secret-{name}"))


def all_ready(here: Here, server: ChartServer, example: str) -> None:
    said = here.must("plan", code=2)
    assert "no chart" not in said and "apply" in said
    said = here.must("up", "--yes")
    assert "✓ add-ons are ready" in said
    listed = here.run("addons", "list")
    assert listed.code == 0, listed.said
    states = {line.split()[0]: line for line in listed.out.splitlines()[1:]}
    assert set(states) == ADDONS[example]
    assert all("in sync" in line for line in states.values()), listed.out
    assert here.steps() == []
    assert f"{len(states)} in sync" in here.must("status")
    assert (here.folder / "charts.lock").exists()
    asked = len(server.asked)
    here.must("plan")
    assert len(server.asked) == asked, "what is locked and cached is not fetched again"
    for text in (said, listed.out):
        assert "the-secret" not in text


@pytest.mark.parametrize("example", ["homelab", "libvirt-ha"])
def test_an_example_goes_up_with_its_addons(here: Here, server: ChartServer, example: str) -> None:
    in_the_lab(here, example)
    offer_addons(server, load(here.folder))
    with (here.folder / "cluster.yaml").open("a") as file:
        file.write(mirrors_block(server))
    all_ready(here, server, example)


@pytest.mark.real
def test_the_home_lab_goes_up_with_the_real_charts(here: Here, server: ChartServer) -> None:
    in_the_lab(here, "homelab")
    missing = offer_addons(server, load(here.folder), real_charts())
    assert set(missing) == {"coredns", "reloader", "k8s-gateway", "talos-ccm"}, "no Go module carries these"
    with (here.folder / "cluster.yaml").open("a") as file:
        file.write(mirrors_block(server))
    all_ready(here, server, "homelab")
