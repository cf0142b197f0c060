"""The life of an instance: what moto does at once takes its time here, and what moto forgets ends with the instance.

Methods of moto's own classes are replaced, once in a process. What runs on the instances is told of each change.
"""

from __future__ import annotations

from typing import Any

from . import images  # isort: skip
from moto.ec2.models.instances import Instance, InstanceBackend, StateReason
from moto.ec2.utils import filter_dict_attribute_mapping
from moto.elbv2.models import elbv2_backends

from .corrections import current

assert images  # before moto
_run_instances = InstanceBackend.run_instances
_start, _stop, _terminate = Instance.start, Instance.stop, Instance.terminate
_USER = "Client.UserInitiatedShutdown: User initiated shutdown"
_ADDRESSES = ("private_ip", "private_ip_address", "private_dns_name", "vpc_id", "subnet_id")
_PUBLIC = ("public_ip", "public_ip_address", "public_dns_name")
_FILTERS = {
    "client-token": "client_token",
    "instance-lifecycle": "lifecycle",
    "network-interface.subnet-id": "subnet_id",
    "iam-instance-profile.arn": "profile_arn",
}


def is_gone(instance: Any) -> bool:
    return bool(instance.state == "terminated")


def _launch(self: Any, image_id: str, count: int, user_data: Any, names: list[str], **kwargs: Any) -> Any:
    """There is a root volume, and the volumes' defaults are those of AWS."""
    params = current.cloud.executing.params if current.cloud.executing else {}
    given = params.get("BlockDeviceMappings", [])
    if image_id in self.amis:
        root = self.amis[image_id].root_device_name
        mappings = kwargs.setdefault("block_device_mappings", [])
        if not any(one["DeviceName"] == root for one in mappings):
            mappings.insert(0, {"DeviceName": root, "Ebs": {"VolumeSize": 15, "DeleteOnTermination": True}})
        for one in given:
            if one["DeviceName"] == root and "DeleteOnTermination" not in one.get("Ebs", {}):
                next(m for m in mappings if m["DeviceName"] == root)["Ebs"]["DeleteOnTermination"] = True
    try:
        reservation = _run_instances(self, image_id, count, user_data, names, **kwargs)
    finally:
        for key in [key for key, one in self.reservations.items() if not one.instances]:
            del self.reservations[key]
    for instance in reservation.instances:
        instance.disable_api_termination = params.get("DisableApiTermination", False)
        instance.security_groups = instance.security_groups or list(instance.nics[0]._group_set)
        asked = {one["ResourceType"]: one["Tags"] for one in params.get("TagSpecifications", ())}
        for nic in instance.nics.values():
            nic.delete_on_termination = True
            nic.add_tags({one["Key"]: one.get("Value", "") for one in asked.get("network-interface", ())})
        for one in given:
            volume = self.volumes[instance.block_device_mapping[one["DeviceName"]].volume_id]
            volume.iops = one.get("Ebs", {}).get("Iops", volume.iops)
            volume.throughput = one.get("Ebs", {}).get("Throughput", volume.throughput)
        _starting(instance)
    return reservation


def _starting(instance: Any) -> None:
    """Pending for a while, then the guest boots."""
    cloud, state = current.cloud, instance._state

    def run() -> None:
        if state.name in ("pending", "running"):
            state.name, state.code = "running", 16
            if cloud.guests:
                cloud.guests.started(instance)

    if cloud.launch_takes:
        state.name, state.code = "pending", 0
        cloud.agenda.after(cloud.launch_takes, run)
    else:
        run()


def _started(self: Any) -> Any:
    if self.state != "stopped":
        return self._state
    previous = _start(self)
    _starting(self)
    return previous


def _stopped(self: Any) -> Any:
    if self.state != "running":
        return self._state
    cloud, state = current.cloud, self._state
    previous = _stop(self)
    if cloud.guests:
        cloud.guests.stopped(self)
    if cloud.stop_takes:
        state.name, state.code = "stopping", 64
        cloud.agenda.after(cloud.stop_takes, lambda: _halt(state))
    return previous


def _halt(state: Any) -> None:
    if state.name == "stopping":
        state.name, state.code = "stopped", 80


def _rebooted(self: Any) -> None:
    if self.state == "running" and current.cloud.guests:
        current.cloud.guests.rebooted(self)


def _terminated(self: Any) -> Any:
    cloud, previous = current.cloud, type(self._state)(self._state.name, self._state.code)
    if self.state in ("shutting-down", "terminated"):
        return previous
    if cloud.terminate_takes:
        self._state.name, self._state.code = "shutting-down", 32
        if cloud.guests:
            cloud.guests.stopped(self)
        cloud.agenda.after(cloud.terminate_takes, lambda: terminate_now(self))
    else:
        terminate_now(self)
    return previous


def terminate_now(instance: Any, reason: str = _USER) -> None:
    """The instance, its interfaces and those of its volumes that end with it."""
    if is_gone(instance):
        return
    backend = instance.ec2_backend
    for address in list(backend.addresses):
        if address.eni is not None and address.eni in instance.nics.values():
            backend.disassociate_address(association_id=address.association_id)
    _terminate(instance)
    instance.state_reason = StateReason(reason, reason.partition(":")[0])
    elbv2_backends[backend.account_id][backend.region_name].notify_terminate_instances([instance.id])
    instance.security_groups = []
    instance.gone_nics, instance.nics = instance.nics, {}
    if current.cloud.guests:
        current.cloud.guests.terminated(instance)


def _absent_when_gone(name: str) -> None:
    """A terminated instance has no addresses and no network."""
    plain = getattr(Instance, name).fget
    setattr(Instance, name, property(lambda self: None if is_gone(self) else plain(self)))


def _profile(self: Any) -> str:
    found = self.ec2_backend.iam_instance_profile_associations.get(self.id)
    return str(found.instance_profile.arn) if found else ""


def _correct() -> None:
    InstanceBackend.run_instances = _launch  # type: ignore[method-assign, assignment]
    Instance.start, Instance.stop, Instance.terminate = _started, _stopped, _terminated  # type: ignore[method-assign]
    Instance.reboot = _rebooted  # type: ignore[method-assign]
    for name in (*_ADDRESSES, *_PUBLIC):
        _absent_when_gone(name)
    Instance.profile_arn = property(_profile)  # type: ignore[attr-defined]
    filter_dict_attribute_mapping.update(_FILTERS)


_correct()
