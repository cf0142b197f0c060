"""Creating, starting, stopping and terminating instances."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.resources import ResourceKey
from talosmith.model.secret import Secret
from talosmith.providers.aws import launch
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import AddressInUse, Gone, There, TokenOfOthers, TokenUsed
from talosmith.providers.aws.images import Images
from talosmith.providers.aws.instances import LIVE, Found, Instances, public_address
from talosmith.providers.aws.marks import as_tags
from talosmith.providers.aws.network import until
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.wanted import Wanted, subnet
from talosmith.providers.progress import report_progress

_GENERATIONS = 50
_AGAIN = 2.0  # seconds
_LOOKS = 30  # at an instance that runs without the address it is to be reached at


class Machines:
    """`ids` looks up what a machine stands on."""

    def __init__(
        self,
        client: AwsClient,
        settings: AwsSettings,
        instances: Instances,
        images: Images,
        ids: Callable[[list[ResourceKey]], Awaitable[dict[ResourceKey, str]]],
    ) -> None:
        self.client = client
        self.settings = settings
        self.instances = instances
        self.images = images
        self._ids = ids
        self._wanted = Wanted(settings)

    async def ec2(self, action: str, *, fresh: bool = False, **parameters: Any) -> dict[str, Any]:
        self.instances.forget()
        try:
            return await self.client.call("ec2", action, fresh=fresh, **parameters)
        finally:
            self.instances.forget()

    # Creating

    async def create(self, spec: MachineSpec, seed: Secret | None) -> Machine:
        look = await self.instances.look()
        there = [one for one in look.live if as_tags(one["Tags"]).get("talosmith-node") == spec.name]
        if there:
            first = min(there, key=lambda one: (str(one.get("LaunchTime", "")), str(one["InstanceId"])))
            return await self.started(first["InstanceId"])
        ended = [one for one in look.instances if as_tags(one["Tags"]).get("talosmith-node") == spec.name]
        launched = await self._launched(spec, seed, len(ended))
        if launched["State"]["Name"] in ("pending", "running") and self._is_reached(launched):
            return replace(self.instances.described(launched, {}), disks_mib=spec.disks_mib)
        return await self.started(launched["InstanceId"])

    async def _launched(self, spec: MachineSpec, seed: Secret | None, generation: int) -> Found:
        """By a token that everyone has who creates this machine now. An instance that was terminated uses up its
        token, also when EC2 no longer lists it."""
        wanted = await self._request(spec, seed)
        for number in range(generation, generation + _GENERATIONS):
            token = launch.token(self.settings, spec.name, number)
            try:
                made = await self.ec2("run_instances", fresh=True, ClientToken=token, **wanted)
            except TokenUsed:
                continue
            except TokenOfOthers:
                known = await self._of_token(token)
                if known is None:
                    raise Temporary(f"{spec.name}: not visible yet", retry_after=_AGAIN) from None
                if known["State"]["Name"] not in LIVE:
                    continue
                return known
            except AddressInUse as wrong:
                raise await self._taken(spec, wrong) from None
            instance: Found = made["Instances"][0]
            if instance["State"]["Name"] in LIVE:
                return instance
        raise Permanent(f"{spec.name}: was created and terminated {_GENERATIONS} times", hint="wait an hour")

    async def _request(self, spec: MachineSpec, seed: Secret | None) -> dict[str, Any]:
        zone = spec.node.zone or self.settings.section.azs[0]
        groups = [*self._wanted.groups_of(spec.role)]
        image, ids = await asyncio.gather(self.images.must_find(spec), self._ids([subnet(zone), *groups]))
        return launch.request(
            self.settings,
            spec,
            seed,
            image=image,
            subnet=ids[subnet(zone)],
            groups=[ids[one] for one in groups],
            profile=self.instances.profile(spec),
        )

    async def _of_token(self, token: str) -> Found | None:
        filters = [{"Name": "client-token", "Values": [token]}]
        there = await self.client.listed("ec2", "describe_instances", "Reservations", Filters=filters)
        return next((one for group in there for one in group["Instances"]), None)

    async def _taken(self, spec: MachineSpec, wrong: Exception) -> Exception:
        """By an instance that is just being terminated, or is not visible yet; or by something foreign."""
        ids = await self._ids([subnet(spec.node.zone or self.settings.section.azs[0])])
        filters = [
            {"Name": "addresses.private-ip-address", "Values": [str(spec.ip)]},
            {"Name": "subnet-id", "Values": [*ids.values()]},
        ]
        there = await self.client.listed("ec2", "describe_network_interfaces", "NetworkInterfaces", Filters=filters)
        for one in there:
            user = one.get("Attachment", {}).get("InstanceId", "")
            instance = await self.instances.any(user)
            if instance is not None:
                foreign = not self.instances.is_ours(instance)
            else:  # of an instance that is not visible yet; or of none
                foreign = not user and not self.settings.owner.owns(as_tags(one.get("TagSet", ())))
            if foreign or (instance is None and one.get("RequesterManaged")):
                owner = user or one.get("Description") or one["NetworkInterfaceId"]
                return There(
                    f"{spec.name}: {spec.ip} is the address of {owner}, which is not a machine of this cluster",
                    hint="set another `ip` for the node, or free the address",
                )
        return Temporary(f"{spec.name}: {wrong}", retry_after=_AGAIN)

    async def started(self, identity: str) -> Machine:
        """Switched on, and with the address at which it is reached."""
        asked, without_address = False, 0
        while True:
            found = await self.instances.get(identity)
            if found is not None:
                state = found["State"]["Name"]
                if state == "stopped" and not asked:
                    await self.ec2("start_instances", fresh=True, InstanceIds=[identity])
                    asked = True
                elif state in ("pending", "running") and self._is_reached(found):
                    return self.instances.described(found, await self.instances.volumes_of(found))
                else:
                    report_progress(f"instance {identity} is {state}")
                    without_address += state == "running"
                    if without_address > _LOOKS:
                        hint = "let its subnet assign public addresses, or set `aws.reach: private`"
                        raise Permanent(f"instance {identity} has no public address", hint=hint)
            elif (ended := await self.instances.any(identity)) is not None and ended["State"]["Name"] not in LIVE:
                why = ended.get("StateReason", {}).get("Message", "")
                raise Temporary(f"instance {identity} was terminated{f': {why}' if why else ''}", retry_after=_AGAIN)
            elif found is None and ended is None:
                raise Temporary(f"instance {identity} is not visible yet", retry_after=_AGAIN)
            await asyncio.sleep(self.settings.between)

    def _is_reached(self, instance: Found) -> bool:
        return bool(public_address(instance)) or not self.settings.section.reaches_public

    # Switching

    async def power(self, machine: Machine, on: bool) -> None:
        instance = await self.instances.must_get(machine)
        if on:
            await self.started(machine.id)
        elif instance["State"]["Name"] != "stopped":
            await self.stop(machine.id)

    async def stop(self, identity: str) -> None:
        await self.ec2("stop_instances", InstanceIds=[identity])

        async def stopped() -> bool:
            found = await self.instances.any(identity)
            return found is None or found["State"]["Name"] not in ("running", "pending", "stopping")

        await until(stopped, self.settings.between)

    # Terminating

    async def destroy(self, machine: Machine) -> None:
        found = await self.instances.any(machine.id)
        if found is None or not self.instances.is_ours(found):
            return
        if found["State"]["Name"] in LIVE:
            await self._terminate(machine)

        async def terminated() -> bool:
            now = await self.instances.any(machine.id)
            report_progress("instance is terminated" if now is None else f"instance is {now['State']['Name']}")
            return now is None or now["State"]["Name"] == "terminated"

        await until(terminated, self.settings.between)

    async def _terminate(self, machine: Machine) -> None:
        try:
            if machine.role == "controlplane":
                protected = {"Value": False}
                await self.ec2("modify_instance_attribute", InstanceId=machine.id, DisableApiTermination=protected)
            await self.ec2("terminate_instances", InstanceIds=[machine.id])
        except Gone:
            return
