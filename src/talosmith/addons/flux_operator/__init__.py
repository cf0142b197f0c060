"""flux-operator: installs and upgrades Flux as the FluxInstance of the add-on flux-instance says."""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart

ADDON = Addon(
    title="Installs and upgrades Flux",
    namespace="flux-system",
    chart=Chart("oci://ghcr.io/controlplaneio-fluxcd/charts/flux-operator", {"0.58.1": ">=1.22"}),
    rendered_by_tests=False,
)
