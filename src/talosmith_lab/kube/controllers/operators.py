"""Operators of add-ons, played while their pods are available: the kinds they register, the conditions they set."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.objects import DAEMON_SET, DEPLOYMENT
from talosmith_lab.kube.controllers.work import Controller, Work
from talosmith_lab.kube.crds import DEFINITION
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.operators import OPERATORS, Need, Operator, is_available, running, status_of

_TENDED = {(tended.group, tended.kind): operator.name for operator in OPERATORS for tended in operator.tends}
_BY_NAME = {operator.name: operator for operator in OPERATORS}
WORKLOADS = (DEPLOYMENT, DAEMON_SET)


def workloads(work: Work) -> list[Obj]:
    return [one for kind in WORKLOADS for one in work.api.items(kind)]


class Operators(Controller):
    name = "operators"
    watches_all = True  # custom kinds among them

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        """Of a workload it only matters whether it has become available."""
        if kind.custom:
            name = _TENDED.get((kind.group, kind.kind))
            if name is not None:
                yield name
        elif kind in WORKLOADS and now is not None and is_available(now) and not (before and is_available(before)):
            yield from (operator.name for operator in OPERATORS if operator.runs_in(now))

    def reconcile(self, key: str) -> None:
        self.work.after(self, "look", key, "operator")

    def elapsed(self, what: str, key: str) -> None:
        operator = _BY_NAME[key]
        if operator not in running(workloads(self.work)):
            return
        for definition in operator.definitions:
            how = How(manager=operator.name, user=f"system:serviceaccount:kube-system:{operator.name}")
            self.work.ensure(DEFINITION, definition, how)
        self._tend(operator)

    def _tend(self, operator: Operator) -> None:
        for tended in operator.tends:
            kind = self.work.kubernetes.kinds.named(tended.api_version, tended.kind)
            for obj in list(self.api.items(kind)) if kind is not None else ():
                assert kind is not None  # noqa: S101 - there are objects of it
                status = status_of(tended, obj, self._find, self.work.now)
                if status:
                    self.work.set_status(kind, obj, status)

    def _find(self, need: Need) -> Obj | None:
        kind = self.work.kubernetes.kinds.named(need.api_version, need.kind)
        return self.api.find(kind, need.name, need.namespace) if kind is not None else None
