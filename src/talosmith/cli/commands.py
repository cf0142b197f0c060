"""The table of commands: groups, summaries, modules. Importing it costs nothing, so help and completion are instant.

`DONE_BY` maps commands of kubectl, talosctl and terraform to what does the same here.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    group: str  # the heading in `talosmith --help`
    summary: str
    module: str  # has `app`, a typer application of one command or of several


COMMANDS = {
    "init": Command("Start", "Create an inventory: answer a few questions, or pass flags", "talosmith.cli.init"),
    "validate": Command("Start", "Check the inventory and the machine configs", "talosmith.cli.validate"),
    "show": Command("Start", "Show the cluster that the inventory describes", "talosmith.cli.show"),
    "import": Command("Start", "Create an inventory from another tool's files", "talosmith.cli.import_"),
    "config": Command("Start", "Migrate patches to the documents of Talos 1.14", "talosmith.cli.config"),
    "versions": Command("Start", "Show supported versions and upgrade paths", "talosmith.cli.versions"),
    "schema": Command("Start", "Print the JSON Schema of the inventory, for editors", "talosmith.cli.schema"),
    "plan": Command("Cluster", "Show what `up` would change, and why; changes nothing", "talosmith.cli.plan"),
    "up": Command("Cluster", "Create the cluster, or reconcile it with the inventory", "talosmith.cli.up"),
    "status": Command("Cluster", "Show machines, Talos, etcd and Kubernetes per node", "talosmith.cli.status"),
    "health": Command("Cluster", "Check the cluster's health conditions", "talosmith.cli.health"),
    "doctor": Command("Cluster", "Find problems: cause, evidence and fix", "talosmith.cli.doctor"),
    "diff": Command("Cluster", "Compare machine configs field by field", "talosmith.cli.diff"),
    "destroy": Command("Cluster", "Delete the cluster's machines, or reset them", "talosmith.cli.destroy"),
    "addons": Command("Cluster", "List, show, compare or pull the add-ons", "talosmith.cli.addons"),
    "node": Command("Nodes", "Show a node's logs, kernel log, services or console", "talosmith.cli.node"),
    "events": Command("Nodes", "Show or follow the Talos events of all nodes", "talosmith.cli.events"),
    "support": Command("Nodes", "Collect a support bundle (zip), secrets stripped", "talosmith.cli.support"),
    "runs": Command("Runs", "List the runs of the cluster and how each ended", "talosmith.cli.runs"),
    "run": Command("Runs", "Show one run: steps and times, or follow it", "talosmith.cli.run"),
    "kubeconfig": Command("Access", "Write a kubeconfig, or merge it into your own", "talosmith.cli.kubeconfig"),
    "talosconfig": Command("Access", "Write a talosconfig, or merge it into your own", "talosmith.cli.talosconfig"),
    "secrets": Command("Access", "Create, show, import, set, export or rekey secrets", "talosmith.cli.secrets"),
    "render": Command("Access", "Write machine configs and NoCloud seeds; list images", "talosmith.cli.render"),
    "template": Command("Other", "Create, list or delete templates (Proxmox VE)", "talosmith.cli.template"),
    "lab": Command("Lab", "Simulated machines on this computer", "talosmith.cli.lab"),
    "graph": Command("Other", "Draw the cluster or a plan as SVG or Mermaid", "talosmith.cli.graph"),
    "completion": Command("Other", "Print the completion script for a shell", "talosmith.cli.completion"),
    "version": Command("Other", "Print talosmith's and the supported versions", "talosmith.cli.version"),
}
GROUPS = ("Start", "Cluster", "Nodes", "Runs", "Access", "Lab", "Other")


class Equivalent(NamedTuple):
    """What does here what a command of another tool does there."""

    what: str
    fix: str


DONE_BY = {
    "apply": Equivalent("`up` applies the inventory", "talosmith up"),
    "apply-config": Equivalent("`up` applies machine configs", "talosmith up"),
    "bootstrap": Equivalent("`up` bootstraps etcd", "talosmith up"),
    "console": Equivalent("consoles belong to nodes", "talosmith node console NODE"),
    "create": Equivalent("`up` creates the cluster", "talosmith up"),
    "dashboard": Equivalent("talosmith has no dashboard", "talosmith status"),
    "delete": Equivalent("`destroy` deletes machines", "talosmith destroy"),
    "deploy": Equivalent("`up` creates the cluster", "talosmith up"),
    "describe": Equivalent("kubectl shows Kubernetes objects", "kubectl describe nodes"),
    "down": Equivalent("`destroy` deletes machines", "talosmith destroy"),
    "dmesg": Equivalent("kernel logs belong to nodes", "talosmith node dmesg NODE"),
    "drift": Equivalent("`plan` shows drift", "talosmith plan"),
    "gen": Equivalent("`render` writes machine configs", "talosmith render configs --out FOLDER"),
    "genconfig": Equivalent("`render` writes machine configs", "talosmith render configs --out FOLDER"),
    "get": Equivalent("kubectl shows Kubernetes objects", "kubectl get nodes"),
    "lint": Equivalent("`validate` checks the inventory", "talosmith validate"),
    "logs": Equivalent("logs belong to nodes", "talosmith node logs NODE"),
    "machine": Equivalent("simulated machines belong to a lab", "talosmith lab machine list"),
    "nodes": Equivalent("`status` lists nodes", "talosmith status"),
    "refresh": Equivalent("there is no state file: every command reads the cluster", "talosmith status"),
    "reset": Equivalent("`destroy` resets nodes", "talosmith destroy -n NODE"),
    "scale": Equivalent("the number of nodes is set in the inventory", "talosmith plan"),
    "services": Equivalent("services belong to nodes", "talosmith node services NODE"),
    "state": Equivalent("there is no state file: every command reads the cluster", "talosmith status"),
    "upgrade": Equivalent(
        "upgrades are not built yet; `talosmith render image` shows the installer image",
        "talosctl upgrade --nodes ADDRESS --image INSTALLER",
    ),
    "upgrade-k8s": Equivalent(
        "upgrades are not built yet; `talosmith plan` shows the difference", "talosctl upgrade-k8s --to VERSION"
    ),
    "watch": Equivalent("`status` shows the cluster", "talosmith status"),
}
