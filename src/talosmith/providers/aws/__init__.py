"""EC2 instances on AWS with all that they stand on, found by tags alone."""

from __future__ import annotations

from talosmith.desired.target import machine_spec
from talosmith.model.cluster import Cluster
from talosmith.model.machines import Owner
from talosmith.model.providers import Aws
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.provider import AwsProvider
from talosmith.providers.aws.settings import AwsSettings

__all__ = ["AwsProvider", "aws_provider", "settings_of"]


def aws_provider(cluster: Cluster, section: Aws, owner: Owner) -> AwsProvider:
    return AwsProvider(AwsClient(section.region, section.profile), settings_of(cluster, section, owner))


def settings_of(cluster: Cluster, section: Aws, owner: Owner) -> AwsSettings:
    return AwsSettings(
        section=section,
        owner=owner,
        specs={node.name: machine_spec(cluster, node) for node in cluster.nodes},
        record=f"k8s.{section.domain}" if section.domain else "",
        endpoint_to_come=cluster.endpoint.to_come,
    )
