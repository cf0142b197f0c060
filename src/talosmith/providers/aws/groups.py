"""Security groups, whose rules converge exactly, and the rules by which nodes reach a public load balancer.

What is left alone: rules that Kubernetes' cloud controller has made for its own load balancers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, Settings
from talosmith.providers.aws.failures import Gone, There
from talosmith.providers.aws.kinds import OnEc2, ignore_gone, known_id, listing, texts
from talosmith.providers.aws.marks import as_tags, of_cluster
from talosmith.providers.aws.rules import EVERYWHERE, KUBERNETES_RULE, NODE_RULE, Rule, as_egress, read
from talosmith.providers.aws.settings import KUBERNETES
from talosmith.providers.aws.wanted import ACCESS, BALANCED, VPC
from talosmith.providers.base import Known

_OURS = "talosmith"  # the description of a rule that the inventory wants
Group = Mapping[str, Any]


class Groups(OnEc2):
    kinds = frozenset({"security-group", "api-access"})
    in_place = frozenset({"ingress", "egress", "from"})

    async def find(self) -> list[Resource]:
        there = await self._listed()
        return [self._seen(key, one, there) for one in there if (key := self.key_of(one))]

    async def _listed(self) -> list[Group]:
        """The cluster's, and those of Kubernetes' own load balancers."""
        filters = of_cluster(self.settings.owner, self.marks.kubernetes_tag)
        return await self.client.listed("ec2", "describe_security_groups", "SecurityGroups", Filters=filters)

    def _seen(self, key: ResourceKey, group: Group, there: Sequence[Group]) -> Resource:
        name, foreign = self._names(there)
        ingress, nodes = [], {}
        for rule, description in read(group["IpPermissions"], name):
            if description.startswith(NODE_RULE):
                nodes[f"rule {description.removeprefix(NODE_RULE)}"] = str(rule)
            elif not description.startswith(KUBERNETES_RULE) and rule.source not in foreign:
                ingress.append(str(rule))
        egress = [as_egress(rule) for rule, _ in read(group["IpPermissionsEgress"], name)]
        settings: Settings = {"ingress": listing(ingress), "egress": listing(egress)}
        return self.seen(key, group["GroupId"], settings, as_tags(group["Tags"]), **nodes)

    def _names(self, there: Sequence[Group]) -> tuple[Callable[[str], str], set[str]]:
        """The name of a source by its id, and the ids of Kubernetes' own groups."""
        ours = {one["GroupId"]: str(key) for one in there if (key := self.key_of(one))}
        kubernetes = {one["GroupId"] for one in there if self.marks.kubernetes_tag in as_tags(one.get("Tags", ()))}
        return (lambda source: ours.get(source, source)), kubernetes - ours.keys()

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        """Names are unique in a VPC, so there is never a second."""
        vpc = known_id(known, VPC)
        found = await self._there(spec.key)
        if found is None:
            name = f"{self.marks.unique}-{spec.name}"
            more = {self.marks.kubernetes_tag: "owned"} if spec.name == "nodes" else {}
            try:
                made = await self.ec2(
                    "create_security_group", fresh=True, GroupName=name, VpcId=vpc,
                    Description=f"talosmith cluster {self.settings.owner.cluster}: {spec.name}",
                    TagSpecifications=self.marks.specification("security-group", spec.key, **more),
                )  # fmt: skip
            except There:
                found = await self._there(spec.key)
                if found is None:
                    raise
            else:
                settings: Settings = {"egress": [f"all to {EVERYWHERE}"], "ingress": []}
                found = self.seen(spec.key, made["GroupId"], settings, self.marks.tags(spec.key))
        return await self.update(found, spec, known)

    async def _there(self, key: ResourceKey) -> Resource | None:
        return next((one for one in await self.find() if one.key == key), None)

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        """New rules first: what works keeps working."""
        for direction in ("ingress", "egress"):
            before, after = {*texts(found, direction)}, {*texts(spec, direction)}
            await self._change(f"authorize_security_group_{direction}", found, after - before, known)
            await self._change(f"revoke_security_group_{direction}", found, before - after, known)
        return self.seen(spec.key, found.id, spec.settings, found.tags, **found.outputs)

    async def _change(self, action: str, found: Resource, texts: set[str], known: Known) -> None:
        def group_id(source: str) -> str:
            if source == str(found.key):
                return found.id
            kind, _, name = source.partition(" ")
            return known_id(known, ResourceKey(kind, name)) if name else source

        for text in sorted(texts):  # one by one: of several, one that exists would refuse all
            permission = Rule.parse(text).permission(group_id, _OURS)
            if action.startswith("revoke"):
                permission = _without_descriptions(permission)
            try:
                await self.ec2(action, fresh=action.startswith("auth"), GroupId=found.id, IpPermissions=[permission])
            except (There, Gone):
                continue  # it was there already, or gone

    async def delete(self, found: Resource) -> None:
        await ignore_gone(self.ec2("delete_security_group", GroupId=found.id))

    # Nodes that reach the load balancer

    async def find_access(self, group: Resource | None, addresses: Mapping[str, str]) -> list[Resource]:
        """`addresses`: of the nodes or NAT gateways, as they are now. A rule for another address is no access."""
        rules = _access_rules(group)
        if group is None or not rules:
            return []
        right = [name for name, rule in rules.items() if rule == str(access_rule(addresses.get(name, "")))]
        wrong = [f"{name} (another address)" for name in rules if name not in right]
        settings: Settings = {"from": listing([*right, *wrong])}
        members = tuple(sorted(name for name in rules if " " not in name))
        return [replace(self.seen(ACCESS, group.id, settings, group.tags, **group.outputs), members=members)]

    async def set_access(self, spec: ResourceSpec, known: Known, addresses: Mapping[str, str]) -> Resource:
        group = known_id(known, BALANCED)
        before = _access_rules(await self._there(BALANCED))
        after = {name: str(access_rule(addresses[name])) for name in texts(spec, "from") if addresses.get(name)}
        for name, rule in after.items():
            if before.get(name) != rule:
                await self._access("authorize_security_group_ingress", group, name, rule)
        for name, rule in before.items():
            if after.get(name) != rule and rule not in after.values():
                await self._access("revoke_security_group_ingress", group, name, rule)
        found = await self.find_access(await self._there(BALANCED), addresses)
        return found[0] if found else self.seen(ACCESS, group, spec.settings, self.marks.tags(ACCESS))

    async def _access(self, action: str, group: str, name: str, rule: str) -> None:
        permission = Rule.parse(rule).permission(lambda source: source, NODE_RULE + name)
        if action.startswith("revoke"):
            permission = _without_descriptions(permission)
        try:
            await self.ec2(action, fresh=action.startswith("auth"), GroupId=group, IpPermissions=[permission])
        except (There, Gone):
            return

    async def renew_access(self, node: str, address: str) -> None:
        """A node has another public address after it was stopped."""
        group = await self._there(BALANCED)
        before, rule = _access_rules(group).get(node, ""), str(access_rule(address))
        if group is not None and before and before != rule:
            await self._access("authorize_security_group_ingress", group.id, node, rule)
            await ignore_gone(self._access("revoke_security_group_ingress", group.id, node, before))

    async def revoke_access(self, node: str) -> None:
        """The rule of one node."""
        group = await self._there(BALANCED)
        if group is not None and (rule := _access_rules(group).get(node)):
            await ignore_gone(self._access("revoke_security_group_ingress", group.id, node, rule))

    async def delete_access(self, found: Resource) -> None:
        for name, rule in _access_rules(found).items():
            await ignore_gone(self._access("revoke_security_group_ingress", found.id, name, rule))


def access_rule(address: str) -> Rule:
    return Rule("tcp", KUBERNETES, KUBERNETES, f"{address}/32")


def _access_rules(group: Resource | None) -> dict[str, str]:
    """By the name of the node or NAT gateway."""
    outputs = group.outputs if group is not None else {}
    return {name.removeprefix("rule "): rule for name, rule in outputs.items() if name.startswith("rule ")}


def _without_descriptions(permission: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [{key: text for key, text in one.items() if key != "Description"} for one in value]
        if isinstance(value, list) else value
        for name, value in permission.items()
    }  # fmt: skip
