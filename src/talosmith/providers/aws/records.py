"""The DNS record of the API in Route 53.

Records have no tags: one that points to a load balancer with the cluster's id in its name is the cluster's.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from talosmith.errors import Permanent
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Denied, Gone, There
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.wanted import BALANCER, TO_BALANCER
from talosmith.providers.base import Known

KIND = "dns-record"


class Records:
    kinds = frozenset({KIND})
    in_place = frozenset({"alias"})

    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self.marks = settings.marks

    async def find(self) -> list[Resource]:
        """Also those under a former name, as long as they are in the same zone."""
        if not self.settings.record:
            return []
        zone = await self.zone()
        records = await self._records(zone) if zone else []
        return [self._seen(zone, one) for one in records if self._is_ours(one)]

    async def everywhere(self) -> list[Resource]:
        """In all public zones of the account; none where that may not be read."""
        with suppress(Denied):
            zones = await self.client.listed("route53", "list_hosted_zones", "HostedZones")
            ids = [one["Id"].rpartition("/")[2] for one in zones if not _private(one)]
            return [self._seen(zone, one) for zone in ids for one in await self._records(zone) if self._is_ours(one)]
        return []

    async def zone(self) -> str:
        """The id of the public hosted zone that is named, or that the record belongs to; empty: there is none."""
        wanted = self.settings.section.hosted_zone or ""
        if wanted.startswith("Z") and "." not in wanted:
            return wanted
        name = wanted or self.settings.record
        labels = name.rstrip(".").split(".")
        names = [name.rstrip(".")] if wanted else [".".join(labels[at:]) for at in range(len(labels) - 1)]
        there = await self.client.listed("route53", "list_hosted_zones", "HostedZones")
        public = {one["Name"].rstrip("."): one["Id"].rpartition("/")[2] for one in there if not _private(one)}
        return next((public[one] for one in names if one in public), "")

    async def _records(self, zone: str) -> list[dict[str, Any]]:
        return await self.client.listed(
            "route53", "list_resource_record_sets", "ResourceRecordSets", HostedZoneId=zone
        )

    def _is_ours(self, record: Mapping[str, Any]) -> bool:
        target = str(record.get("AliasTarget", {}).get("DNSName", "")).lower().removeprefix("dualstack.")
        return record["Type"] == "A" and target.startswith(f"{self.marks.unique}-")

    def _seen(self, zone: str, record: Mapping[str, Any]) -> Resource:
        """`alias` is a DNS name until it is compared with the load balancer's."""
        target = record["AliasTarget"]
        name = record["Name"].rstrip(".")
        key = ResourceKey(KIND, name)
        alias = target["DNSName"].rstrip(".").lower().removeprefix("dualstack.")
        outputs = {"target": target["DNSName"], "target_zone": target["HostedZoneId"], "zone": zone}
        tags = self.marks.tags(key)
        return Resource(id=name, kind=KIND, name=name, settings={"alias": alias}, tags=tags, outputs=outputs)

    def translate(self, found: Resource, balancer: Resource | None) -> Resource:
        if balancer is None or found.settings["alias"] != balancer.outputs["dns_name"].lower():
            return found
        return _with_alias(found, TO_BALANCER)

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        zone = await self._must_have_zone()
        there = [one for one in await self._records(zone) if one["Name"].rstrip(".") == spec.name]
        other = [one for one in there if one["Type"] in ("A", "AAAA", "CNAME") and not self._is_ours(one)]
        if other:
            raise There(
                f"the {spec.key} exists, and does not point to this cluster's load balancer",
                hint="delete the record, or set another `aws.domain`",
            )
        return await self._set(zone, spec, known)

    async def _set(self, zone: str, spec: ResourceSpec, known: Known) -> Resource:
        balancer = known.resources[BALANCER]
        target = {
            "HostedZoneId": balancer.outputs["zone_id"],
            "DNSName": balancer.outputs["dns_name"],
            "EvaluateTargetHealth": False,
        }
        record = {"Name": spec.name, "Type": "A", "AliasTarget": target}
        await self._change(zone, "UPSERT", record)
        return _with_alias(self._seen(zone, record), TO_BALANCER)

    async def _change(self, zone: str, action: str, record: Mapping[str, Any]) -> None:
        batch = {"Comment": "talosmith", "Changes": [{"Action": action, "ResourceRecordSet": record}]}
        await self.client.call("route53", "change_resource_record_sets", HostedZoneId=zone, ChangeBatch=batch)

    async def _must_have_zone(self) -> str:
        zone = await self.zone()
        if not zone:
            name = self.settings.section.hosted_zone or self.settings.section.domain
            raise Permanent(
                f"Route 53 has no public hosted zone {name}",
                hint="create it and delegate the domain to it, or correct `aws.hosted_zone`",
            )
        return zone

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        return await self._set(found.outputs["zone"], spec, known)

    async def delete(self, found: Resource) -> None:
        """As it is now, if it is still the cluster's: the call has to name all of it."""
        zone = found.outputs["zone"]
        with suppress(Gone):
            for record in await self._records(zone):
                if record["Name"].rstrip(".") == found.name and self._is_ours(record):
                    await self._change(zone, "DELETE", record)


def _private(zone: Mapping[str, Any]) -> bool:
    return bool(zone.get("Config", {}).get("PrivateZone"))


def _with_alias(record: Resource, alias: str) -> Resource:
    return replace(record, settings={"alias": alias})
