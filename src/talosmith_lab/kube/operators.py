"""What operators of add-ons do in a cluster, as data: the kinds they register, and the conditions they set.

In a real cluster their pods do it. Nothing runs in a pod of the lab, so the lab does it in their place, while one of
their pods is available: what talosmith waits for, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.operator_kinds import CILIUM, definitions

_CERTIFICATES, _GATEWAYS = "cert-manager.io/v1", "gateway.networking.k8s.io/v1"
_ENVOY = "gateway.envoyproxy.io/gatewayclass-controller"
_PROGRAMMED = "Address assigned to the Gateway, 1/1 envoy replicas available"
_ISSUERS = {
    "selfSigned": ("IsReady", ""),
    "ca": ("KeyPairVerified", "Signing CA verified"),
    "acme": ("ACMEAccountRegistered", "The ACME account was registered with the ACME server"),
}


class Condition(NamedTuple):
    """One that an operator sets to True."""

    type: str
    reason: str
    message: str = ""


class Need(NamedTuple):
    """Another object that has to have a condition first."""

    api_version: str
    kind: str
    namespace: str
    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class Tended:
    """A kind whose objects an operator gives conditions. None of them: the object is not the operator's."""

    api_version: str
    kind: str
    conditions: Callable[[Obj], tuple[Condition, ...]]
    needs: Callable[[Obj], Need | None] = lambda obj: None

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Operator:
    """`names` and `images` (the ends of them) are those of the Deployment or DaemonSet in which it runs."""

    name: str
    names: tuple[str, ...]
    images: tuple[str, ...]
    definitions: tuple[Obj, ...] = ()  # CustomResourceDefinitions that it registers itself
    tends: tuple[Tended, ...] = ()

    def runs_in(self, workload: Obj) -> bool:
        ends = tuple(f"/{image}" for image in self.images)
        return workload["metadata"]["name"] in self.names or any(one.endswith(ends) for one in images_of(workload))


def images_of(workload: Obj) -> Iterator[str]:
    """Its images without tag and digest: `/quay.io/cilium/operator-generic`."""
    for container in containers_of(workload):
        folder, _, last = str(container.get("image") or "").partition("@")[0].rpartition("/")
        yield f"/{folder}/{last.partition(':')[0]}"


def containers_of(workload: Obj) -> list[Obj]:
    spec = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    found: list[Obj] = spec.get("containers") or []
    return found


def is_available(workload: Obj) -> bool:
    """Whether a pod of a Deployment or DaemonSet is: one is enough, for it becomes the leader."""
    status = workload.get("status") or {}
    leaves = "deletionTimestamp" in workload["metadata"]
    return not leaves and bool(status.get("availableReplicas") or status.get("numberAvailable"))


def running(workloads: Iterable[Obj]) -> list[Operator]:
    """The operators that have an available workload among these."""
    available = [one for one in workloads if is_available(one)]
    return [operator for operator in OPERATORS if any(map(operator.runs_in, available))]


def status_of(tended: Tended, obj: Obj, find: Callable[[Need], Obj | None], now: str) -> Obj:
    """The object's status after its operator has looked at it."""
    status: Obj = obj.get("status") or {}
    need = tended.needs(obj)
    if "deletionTimestamp" in obj["metadata"] or (need is not None and not _met(need, find(need))):
        return status
    told = list(status.get("conditions") or ())
    for one in tended.conditions(obj):
        told = _with(told, one, obj["metadata"].get("generation", 1), now)
    return {**status, **({"conditions": told} if told else {})}


def _met(need: Need, obj: Obj | None) -> bool:
    told = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == need.condition and one["status"] == "True" for one in told)


def _with(told: list[Obj], new: Condition, generation: int, now: str) -> list[Obj]:
    old = next((one for one in told if one["type"] == new.type), {})
    since = old.get("lastTransitionTime", now) if old.get("status") == "True" else now
    made = {"type": new.type, "status": "True", "observedGeneration": generation, "lastTransitionTime": since}
    made |= {"reason": new.reason, **({"message": new.message} if new.message else {})}
    return [made if one is old else one for one in told] if old else [*told, made]


def _issuer(obj: Obj) -> tuple[Condition, ...]:
    return tuple(Condition("Ready", *words) for key, words in _ISSUERS.items() if key in (obj.get("spec") or {}))


def _certificate(obj: Obj) -> tuple[Condition, ...]:
    return (Condition("Ready", "Ready", "Certificate is up to date and has not expired"),)


def _certificate_needs(obj: Obj) -> Need:
    issuer = (obj.get("spec") or {}).get("issuerRef") or {}
    kind = issuer.get("kind") or "Issuer"
    namespace = obj["metadata"].get("namespace", "") if kind == "Issuer" else ""
    return Need(_CERTIFICATES, kind, namespace, str(issuer.get("name", "")), "Ready")


def _gateway_class(obj: Obj) -> tuple[Condition, ...]:
    if (obj.get("spec") or {}).get("controllerName") != _ENVOY:
        return ()
    return (Condition("Accepted", "Accepted", "Valid GatewayClass"),)


def _gateway(obj: Obj) -> tuple[Condition, ...]:
    accepted = Condition("Accepted", "Accepted", "The Gateway has been scheduled by Envoy Gateway")
    return (accepted, Condition("Programmed", "Programmed", _PROGRAMMED))


def _gateway_needs(obj: Obj) -> Need:
    name = str((obj.get("spec") or {}).get("gatewayClassName", ""))
    return Need(_GATEWAYS, "GatewayClass", "", name, "Accepted")


def _flux_instance(obj: Obj) -> tuple[Condition, ...]:
    return (Condition("Ready", "ReconciliationSucceeded", "Reconciliation finished in 1s"),)


OPERATORS = (
    Operator(
        "cilium",
        # Its agents are counted too: they become ready only once the operator has registered the kinds.
        ("cilium", "cilium-operator"),
        ("cilium/operator", "cilium/operator-generic", "cilium/operator-aws", "cilium/operator-azure"),
        definitions=definitions(CILIUM),
    ),
    Operator(
        "cert-manager",
        ("cert-manager",),
        ("cert-manager-controller",),
        tends=(
            Tended(_CERTIFICATES, "Issuer", _issuer),
            Tended(_CERTIFICATES, "ClusterIssuer", _issuer),
            Tended(_CERTIFICATES, "Certificate", _certificate, _certificate_needs),
        ),
    ),
    Operator(
        "envoy-gateway",
        ("envoy-gateway",),
        ("envoyproxy/gateway",),
        tends=(
            Tended(_GATEWAYS, "GatewayClass", _gateway_class),
            Tended(_GATEWAYS, "Gateway", _gateway, _gateway_needs),
        ),
    ),
    Operator(
        "flux-operator",
        ("flux-operator",),
        ("flux-operator",),
        tends=(Tended("fluxcd.controlplane.io/v1", "FluxInstance", _flux_instance),),
    ),
)
