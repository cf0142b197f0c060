"""Tags of the user's own on resources that exist: compared, and set in place. IAM and Route 53 have none of them.

Tags that the inventory no longer has stay, as on machines: others may have set them.
"""

from __future__ import annotations

from dataclasses import replace

from talosmith.model.resources import Resource, ResourceSpec, Setting
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.marks import Tags, as_list

_EC2 = frozenset({"vpc", "internet-gateway", "subnet", "route-table", "nat-gateway", "security-group"})
_BALANCING = frozenset({"load-balancer", "target-group"})
TAGGED = _EC2 | _BALANCING
SETTING = "tags"


def tagged_spec(spec: ResourceSpec, tags: Tags) -> ResourceSpec:
    if not tags or spec.kind not in TAGGED:
        return spec
    wanted: dict[str, Setting] = {**tags}
    return replace(spec, settings={**spec.settings, SETTING: wanted})


def tagged_resource(found: Resource, tags: Tags) -> Resource:
    """With those of the tags that it has."""
    if not tags or found.kind not in TAGGED:
        return found
    there: dict[str, Setting] = {key: found.tags[key] for key in tags if key in found.tags}
    return replace(found, settings={**found.settings, SETTING: there})


async def set_tags(client: AwsClient, found: Resource, tags: Tags) -> None:
    if found.kind in _EC2:
        await client.call("ec2", "create_tags", Resources=[found.id], Tags=as_list(tags))
    elif found.kind in _BALANCING:
        await client.call("elbv2", "add_tags", ResourceArns=[found.id], Tags=as_list(tags))
