"""What `talosctl get` shows of a simulated node. Nothing is stored: a resource is made from the state when asked."""

from talosmith_lab.resources import cluster, network, node
from talosmith_lab.resources.catalog import Resource, get_resource, list_resources
from talosmith_lab.resources.kinds import Kind, kinds, kinds_of

# Importing them declares who makes what.
_DECLARED = (cluster, network, node)

__all__ = ["Kind", "Resource", "get_resource", "kinds", "kinds_of", "list_resources"]
