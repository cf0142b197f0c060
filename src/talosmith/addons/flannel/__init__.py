"""flannel: the CNI that Talos installs by itself (`kubernetes.cni: flannel`); there is nothing to apply.

The name is known so that an inventory may say which CNI it means.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon

ADDON = Addon(title="Talos' own CNI", namespace="kube-system", stage="cni")
