"""Roles of the machines, with instance profiles and policies.

A profile is created before its role and deleted after it: a role without a profile would not be found again. All are
under a path with the cluster's id, which no other cluster has.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone, There
from talosmith.providers.aws.kinds import ignore_gone, texts
from talosmith.providers.aws.marks import as_list
from talosmith.providers.aws.policies import TRUST, document_of, fingerprint
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Known


class Identities:
    kinds = frozenset({"role", "policy"})
    in_place = frozenset({"policies", "document"})

    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self.marks = settings.marks

    async def iam(self, action: str, *, fresh: bool = False, **parameters: Any) -> dict[str, Any]:
        return await self.client.call("iam", action, fresh=fresh, **parameters)

    def name(self, key: ResourceKey) -> str:
        return f"{self.marks.unique}-{key.name}"

    def _key(self, kind: str, name: str) -> ResourceKey:
        return ResourceKey(kind, name.removeprefix(f"{self.marks.unique}-"))

    async def find(self) -> list[Resource]:
        path = self.marks.path
        profiles, policies = await asyncio.gather(
            self.client.listed("iam", "list_instance_profiles", "InstanceProfiles", PathPrefix=path),
            self.client.listed("iam", "list_policies", "Policies", Scope="Local", PathPrefix=path),
        )
        ours = [one for one in profiles if one["Path"] == path]
        own = [one for one in policies if one["Path"] == path]
        return [*await asyncio.gather(*map(self._role, ours), *map(self._policy, own))]

    async def _role(self, profile: dict[str, Any]) -> Resource:
        key = self._key("role", profile["InstanceProfileName"])
        attached: list[str] | None = None
        if profile["Roles"]:
            with suppress(Gone):
                attached = await self._attached(profile["Roles"][0]["RoleName"])
        shown = ["no role"] if attached is None else sorted(map(self._shown, attached))
        return self._seen(key, profile["InstanceProfileName"], {"policies": shown}, arn=profile["Arn"])

    def _shown(self, arn: str) -> str:
        """Policies of the cluster's own by their name."""
        return self._key("policy", arn.rpartition("/")[2]).name if self.marks.path in arn else arn

    async def _attached(self, role: str) -> list[str]:
        there = await self.client.listed("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
        return [one["PolicyArn"] for one in there]

    async def _policy(self, policy: dict[str, Any]) -> Resource:
        version = policy["DefaultVersionId"]
        asked = await self.iam("get_policy_version", fresh=True, PolicyArn=policy["Arn"], VersionId=version)
        settings = {"document": fingerprint(asked["PolicyVersion"]["Document"])}
        return self._seen(self._key("policy", policy["PolicyName"]), policy["Arn"], settings)

    def _seen(self, key: ResourceKey, identity: str, settings: dict[str, Any], **outputs: str) -> Resource:
        tags = self.marks.tags(key)
        return Resource(id=identity, kind=key.kind, name=key.name, settings=settings, tags=tags, outputs=outputs)

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        return await (self._create_policy(spec) if spec.kind == "policy" else self._complete(spec, known))

    async def _create_policy(self, spec: ResourceSpec) -> Resource:
        name, document = self.name(spec.key), self._document(spec)
        tags = as_list(self.marks.tags(spec.key))
        try:
            made = await self.iam(
                "create_policy", PolicyName=name, Path=self.marks.path, PolicyDocument=document, Tags=tags
            )
        except There:
            path = self.marks.path
            there = await self.client.listed("iam", "list_policies", "Policies", Scope="Local", PathPrefix=path)
            found = next((one for one in there if one["PolicyName"] == name), None)
            if found is None:
                raise
            return await self._policy(found)
        return self._seen(spec.key, made["Policy"]["Arn"], dict(spec.settings))

    def _document(self, spec: ResourceSpec) -> str:
        short, _, group = spec.name.rpartition("-")
        return json.dumps(document_of(short, group))

    async def _new_version(self, found: Resource, spec: ResourceSpec) -> Resource:
        """IAM keeps five versions; all but the one in force go."""
        await self._delete_versions(found.id)
        document = self._document(spec)
        await self.iam("create_policy_version", PolicyArn=found.id, PolicyDocument=document, SetAsDefault=True)
        return self._seen(spec.key, found.id, dict(spec.settings))

    async def _delete_versions(self, arn: str) -> None:
        for version in await self.client.listed("iam", "list_policy_versions", "Versions", PolicyArn=arn):
            if not version["IsDefaultVersion"]:
                await ignore_gone(self.iam("delete_policy_version", PolicyArn=arn, VersionId=version["VersionId"]))

    async def _complete(self, spec: ResourceSpec, known: Known) -> Resource:
        name, path, tags = self.name(spec.key), self.marks.path, as_list(self.marks.tags(spec.key))
        with suppress(There):
            await self.iam("create_instance_profile", InstanceProfileName=name, Path=path, Tags=tags)
        with suppress(There):
            trust = json.dumps(TRUST)
            await self.iam("create_role", RoleName=name, Path=path, AssumeRolePolicyDocument=trust, Tags=tags)
        profile = (await self.iam("get_instance_profile", fresh=True, InstanceProfileName=name))["InstanceProfile"]
        if not profile["Path"].startswith(path):
            raise There(f"the {spec.key} cannot be created: {name} exists elsewhere", hint="rename or delete it")
        if not profile["Roles"]:
            try:
                await self.iam("add_role_to_instance_profile", fresh=True, InstanceProfileName=name, RoleName=name)
            except Permanent as wrong:
                if "LimitExceeded" not in str(wrong):  # another run was faster
                    raise
        wanted = {self._arn(one, known) for one in texts(spec, "policies")}
        there = set(await self._attached(name))
        for arn in sorted(wanted - there):
            await self._attach(name, arn)
        for arn in sorted(there - wanted):
            await ignore_gone(self.iam("detach_role_policy", RoleName=name, PolicyArn=arn))
        return self._seen(spec.key, name, dict(spec.settings), arn=profile["Arn"])

    async def _attach(self, role: str, arn: str) -> None:
        try:
            await self.iam("attach_role_policy", RoleName=role, PolicyArn=arn)
        except Gone as wrong:
            if self.marks.path in arn or "olicy" not in str(wrong).partition(": ")[2]:
                raise Temporary(f"{wrong}: not visible yet", retry_after=2.0) from None
            raise Permanent(str(wrong), hint="correct `aws.iam`: the policy does not exist") from None

    def _arn(self, policy: str, known: Known) -> str:
        own = known.resources.get(ResourceKey("policy", policy))
        return own.id if own is not None else policy

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        return await (self._new_version(found, spec) if spec.kind == "policy" else self._complete(spec, known))

    async def delete(self, found: Resource) -> None:
        if found.kind == "policy":
            with suppress(Gone):
                await self._delete_versions(found.id)
                await self.iam("delete_policy", PolicyArn=found.id)
            return
        name = found.id
        await ignore_gone(self.iam("remove_role_from_instance_profile", InstanceProfileName=name, RoleName=name))
        with suppress(Gone):
            for arn in await self._attached(name):
                await ignore_gone(self.iam("detach_role_policy", RoleName=name, PolicyArn=arn))
            for inline in await self.client.listed("iam", "list_role_policies", "PolicyNames", RoleName=name):
                await ignore_gone(self.iam("delete_role_policy", RoleName=name, PolicyName=inline))
        await ignore_gone(self.iam("delete_role", RoleName=name))
        await ignore_gone(self.iam("delete_instance_profile", InstanceProfileName=name))
