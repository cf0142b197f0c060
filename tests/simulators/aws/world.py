"""The simulated AWS: moto's state, a clock of its own, and what tests set and look at.

moto's state belongs to the process, so there is one `Cloud` at a time; it holds any number of accounts and regions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from tests.simulators.proxmox.clock import Agenda, Clock

from . import images  # isort: skip
from moto.core.model_instances import reset_model_data
from moto.ec2.models import ec2_backends
from moto.route53.models import route53_backends

from . import corrections
from .calls import ACCOUNTS, DEFAULT_ACCOUNT, Call, account_of, key_of
from .conditions import known_operator
from .errors import AwsError
from .faults import Faults, Refusal
from .instance_life import terminate_now
from .kept import kept
from .naming import resolve
from .tokens import Token

assert images  # before moto
QUOTAS = {
    ("ec2", "L-1216C47A"): 64.0,  # vCPUs of running on-demand standard instances
    ("ec2", "L-34B43A08"): 64.0,  # vCPUs of standard spot instances
    ("ec2", "L-0263D0A3"): 5.0,  # Elastic IPs
    ("vpc", "L-F678F1CE"): 5.0,  # VPCs of a region
    ("vpc", "L-A4707A72"): 5.0,  # internet gateways of a region
    ("elasticloadbalancing", "L-69A177A2"): 50.0,  # Network Load Balancers of a region
}


class Guests(Protocol):
    """What runs on instances. Called with the simulator's lock held."""

    def started(self, instance: Any) -> None: ...
    def stopped(self, instance: Any) -> None: ...
    def rebooted(self, instance: Any) -> None: ...
    def terminated(self, instance: Any) -> None: ...


class Cloud:
    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """An AWS without anything but the default VPCs, and without faults. `guests` are kept no longer."""
        with self.mutex:
            corrections.current.cloud = self
            corrections.empty()
            reset_model_data()
            self.clock = Clock()
            self.agenda = Agenda(self.clock)
            self.calls: list[Call] = []
            self.executing: Call | None = None
            self.watchers: list[Callable[[Call], None]] = []  # each is told of a call before it is answered
            self.on_listeners: list[Callable[[], None]] = []  # each is told that listeners were created or deleted
            self.faults = Faults()
            self.denied: set[str] = set()
            self.policy: Mapping[str, Any] | None = None
            self.tokens: dict[tuple[str, str, str, str], Token] = {}
            self.hidden: dict[str, float] = {}  # ids, and until when
            self.hiding_for = 0.0
            self.quotas: dict[tuple[str, str], float] = dict(QUOTAS)
            self.public_is_private = False
            self.linger = 0.0  # seconds for which the interfaces of a deleted load balancer stay
            self.balancer_takes = 0.0  # seconds until a load balancer is active
            self.launch_takes = 0.0  # seconds for which an instance is pending
            self.stop_takes = 0.0
            self.terminate_takes = 0.0
            self.guests: Guests | None = None
            self.target_listens: Callable[[str, int], bool] = lambda address, port: True
            self.balancer_addresses: dict[str, str] = {}  # by the name or the ARN of a load balancer

    # Time

    def pass_time(self, seconds: float) -> None:
        with self.mutex:
            self.agenda.pass_time(seconds)

    def tick(self) -> None:
        """What is due happens, also between calls."""
        due = self.agenda.next_due()
        if due is not None and due <= self.clock.now():
            with self.mutex:
                self.agenda.run_due()

    def server_time(self) -> float:
        """As the `Date` header has it."""
        return self.clock.now() + self.faults.skew

    # Accounts

    def account_of(self, key: str) -> str:
        return account_of(key)

    def key_of(self, account: str) -> str:
        return key_of(account)

    def add_hosted_zone(self, name: str, account: str = DEFAULT_ACCOUNT, private: bool = False) -> str:
        """Its id."""
        with self.mutex:
            backend = route53_backends[account]["aws"]
            zone = backend.create_hosted_zone(
                name=f"{name.rstrip('.')}.", private_zone=private, caller_reference=f"{name} {len(backend.zones)}",
                vpcid=None, vpcregion=None,
            )  # fmt: skip
            return str(zone.resource_id)

    # Permissions

    def deny(self, *actions: str) -> None:
        """No user may do these: `ec2:RunInstances`, `iam:*`. None lifts all."""
        self.denied = set(actions) | (self.denied if actions else set())

    def allow_only(self, policy_document: Mapping[str, Any] | None) -> None:
        """All users have this policy and no other; `None` allows everything again."""
        statements = json.loads(json.dumps(policy_document or {"Statement": []}))["Statement"]
        for statement in statements if isinstance(statements, list) else [statements]:
            for operator in statement.get("Condition", {}):
                if not known_operator(operator):
                    raise ValueError(f"the simulator does not evaluate the condition operator {operator}")
        self.policy = policy_document

    def expire_credentials(self) -> None:
        self.faults.expired = True

    def renew_credentials(self) -> None:
        self.faults.expired = False

    @property
    def refused_keys(self) -> set[str]:
        return self.faults.refused_keys

    # Faults

    def throttle(self, times: int) -> None:
        self.faults.throttled = times

    def fail_some(self, percent: float, seed: int = 0) -> None:
        """So many of all calls fail, half of them after they had their effect."""
        self.faults.fail_percent(percent, seed)

    def lose_answers(self, times: int = 1) -> None:
        """The next calls that change something have their effect; then the connection is closed without an answer."""
        self.faults.lost_answers = times

    def refuse(self, action: str, code: str, message: str = "", times: int = 1, status: int = 400) -> None:
        """The next calls of `ec2:RunInstances` or `ec2:*` are answered so and have no effect."""
        self.faults.refusals.append(Refusal(action, AwsError(code, message or code, status), times))

    def skew(self, seconds: float) -> None:
        """The clock of AWS is so far ahead of the caller's."""
        self.faults.skew = seconds

    def hide_new(self, seconds: float) -> None:
        """What is created from now on is not seen for so long."""
        self.hiding_for = seconds

    # Instances

    def kill_instance(self, instance: str) -> None:
        """It terminates by itself: a spot interruption, or its hardware fails."""
        with self.mutex:
            found = self.instance(instance)
            found.disable_api_termination = False
            terminate_now(found, "Server.SpotInstanceTermination: Spot instance termination")

    def instance(self, instance: str) -> Any:
        """moto's own object, in whatever account and region."""
        for backend in self.ec2_backends():
            if found := backend.get_instance_by_id(instance):
                return found
        raise KeyError(instance)

    def instances(self, *states: str) -> list[Any]:
        """moto's own objects; by default those that are not terminated."""
        wanted = states or ("pending", "running", "stopping", "stopped", "shutting-down")
        return [one for backend in self.ec2_backends() for one in backend.all_instances() if one.state in wanted]

    def ec2_backends(self) -> Iterable[Any]:
        return [backend for account in list(ec2_backends.values()) for backend in list(account.values())]

    # What there is

    def kept(self) -> dict[str, Any]:
        """Everything that exists, as plain values that can be compared."""
        with self.mutex:
            self.agenda.run_due()
            return kept(ACCOUNTS)

    def balancer_address(self, name: str, address: str) -> None:
        """Where the load balancer of this name listens."""
        self.balancer_addresses[name] = address

    def address_of(self, balancer: Any) -> str:
        """Where a load balancer listens; nothing before a test or a forwarder has given it an address."""
        given = self.balancer_addresses
        return given.get(balancer.arn) or given.get(balancer.name, "")

    def resolve(self, host: str) -> str:
        """The address of a name by Route 53's records and the load balancers' names; nothing if there is none."""
        return resolve(self, host)
