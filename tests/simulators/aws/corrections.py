"""Where moto's own objects behave otherwise than AWS: their methods are replaced, once in a process.

The checks of single calls are elsewhere; instances are in `instance_life.py`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address
from typing import TYPE_CHECKING, Any

from . import images  # isort: skip
from moto.core.base_backend import BackendDict
from moto.ec2.models.amis import AmiBackend
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.nat_gateways import NatGateway, NatGatewayBackend
from moto.ec2.models.subnets import Subnet
from moto.iam.models import IAMBackend

if TYPE_CHECKING:
    from .world import Cloud


class _Current:
    cloud: Cloud


current = _Current()
_load_amis = AmiBackend._load_amis
_load_policies = IAMBackend._init_aws_policies
_policies: dict[str, list[Any]] = {}  # of AWS, by account: to read them takes longer than most tests
_nat_init = NatGateway.__init__


def empty() -> None:
    """As moto's own reset, which first creates again everything that it then drops."""
    known: Any = BackendDict
    for backend in known._instances:
        backend.clear()
    known._instances.clear()


def _policies_of_aws(self: Any) -> list[Any]:
    if self.account_id not in _policies:
        _policies[self.account_id] = _load_policies(self)
    for policy in _policies[self.account_id]:
        policy.attachment_count = 0
    return _policies[self.account_id]


# Images


def _amis_of_the_region(self: Any) -> None:
    _load_amis(self)
    for image in list(self.amis.values()):
        if images.region_of(image.name) != self.region_name:
            del self.amis[image.id]


# Addresses


def _public_ip(self: Any) -> str | None:
    found = self.__dict__.get("_public_ip")
    return self.private_ip_address if found and current.cloud.public_is_private else found


def _set_public_ip(self: Any, address: str | None) -> None:
    self.__dict__["_public_ip"] = address


def free_addresses(subnet: Any) -> list[str]:
    """Those that an interface can get, in order: not AWS' own five, not taken."""
    network = IPv4Network(subnet.cidr_block)
    taken = {eni.private_ip_address for eni in subnet.ec2_backend.enis.values() if eni.subnet.id == subnet.id}
    return [str(one) for one in list(network)[4:-1] if str(one) not in taken]


def _next_address(self: Any, instance: Any) -> str:
    found = free_addresses(self)[0]
    self._subnet_ips[found] = instance
    return found


def last_address(subnet: Any) -> str:
    """For what AWS itself puts into a subnet: far from the addresses that machines are given."""
    return max(free_addresses(subnet), key=ip_address)


# NAT gateways


def _nat_made(self: Any, backend: Any, subnet_id: str, *args: Any, **kwargs: Any) -> None:
    address = last_address(backend.get_subnet(subnet_id))
    _nat_init(self, backend, subnet_id, *args, **kwargs)
    self.private_ip = self._eni.private_ip_address = address
    self._eni.private_ip_addresses = [{"Primary": True, "PrivateIpAddress": address}]
    self._eni.description = f"Interface for NAT Gateway {self.id}"
    self._eni.requester_managed, self._eni.interface_type, self._eni.status = True, "nat_gateway", "in-use"


def _nat_deleted(self: Any, nat_gateway_id: str) -> Any:
    gateway = self.nat_gateways[nat_gateway_id]
    if gateway.state != "deleted":
        for address in self.addresses:
            if address.eni is gateway._eni:
                self.disassociate_address(association_id=address.association_id)
        self.enis.pop(gateway._eni.id, None)
        gateway.state = "deleted"
    return gateway


def _correct() -> None:
    IAMBackend._init_aws_policies = _policies_of_aws  # type: ignore[method-assign]
    AmiBackend._load_amis = _amis_of_the_region  # type: ignore[method-assign]
    NetworkInterface.public_ip = property(_public_ip, _set_public_ip)  # type: ignore[assignment]
    Subnet.get_available_subnet_ip = _next_address  # type: ignore[method-assign]
    NatGateway.__init__ = _nat_made  # type: ignore[method-assign]
    NatGatewayBackend.delete_nat_gateway = _nat_deleted  # type: ignore[method-assign]


_correct()
