"""The tags by which all that talosmith creates in AWS is found again, and names that are unique by the cluster's id.

`talosmith-cluster` and `talosmith-id` say whose it is, `talosmith-resource` what it is for. IAM, target groups and
load balancers have unique names, too: two runs cannot create two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from talosmith.model.machines import ID_TAG, Owner
from talosmith.model.resources import ResourceKey

RESOURCE_TAG = "talosmith-resource"
Tags = Mapping[str, str]


def as_tags(listed: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {one["Key"]: one["Value"] for one in listed}


def as_list(tags: Tags) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def of_cluster(owner: Owner, *more: str) -> list[dict[str, Any]]:
    """The filter for what carries the cluster's id; `more`: or one of these tags."""
    if more:
        return [{"Name": "tag-key", "Values": [ID_TAG, *more]}]
    return [{"Name": f"tag:{ID_TAG}", "Values": [owner.id]}]


class Marks:
    """Of one cluster."""

    def __init__(self, owner: Owner, more: Tags) -> None:
        self.owner = owner
        self.more = dict(more)

    @property
    def kubernetes_id(self) -> str:
        """What Kubernetes marks its load balancers and volumes with."""
        return self.owner.mark

    @property
    def kubernetes_tag(self) -> str:
        return f"kubernetes.io/cluster/{self.kubernetes_id}"

    @property
    def unique(self) -> str:
        """A name of 26 characters."""
        return f"talosmith-{self.owner.id}"

    @property
    def path(self) -> str:
        """Of what is in IAM."""
        return f"/talosmith/{self.owner.id}/"

    def tags(self, key: ResourceKey) -> dict[str, str]:
        name = f"{self.owner.cluster}-{key.name}"
        return {**self.more, "Name": name, **self.owner.resource_tags, RESOURCE_TAG: str(key)}

    def specification(self, kind: str, key: ResourceKey, **more: str) -> list[dict[str, Any]]:
        """For calls of EC2 that create something: it is never without tags."""
        return [{"ResourceType": kind, "Tags": as_list({**self.tags(key), **more})}]

    def key_of(self, tags: Tags) -> ResourceKey | None:
        """Which resource of this cluster carries these tags; None: not this cluster's."""
        kind, _, name = tags.get(RESOURCE_TAG, "").partition(" ")
        return ResourceKey(kind, name) if name and self.owner.owns(tags) else None
