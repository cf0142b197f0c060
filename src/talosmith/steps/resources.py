"""Resources: creating, updating and deleting what machines stand on, or what refers to machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.errors import Permanent
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, SettingChange
from talosmith.observed.resources import learn_endpoint
from talosmith.plan.step import Report, Stage, StepKey
from talosmith.providers.base import HasResources, Known
from talosmith.providers.progress import reporting_to
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context


@dataclass(frozen=True, slots=True)
class _OnResource(OnCluster):
    resource: ResourceKey
    changed: tuple[SettingChange, ...] = ()

    area: ClassVar[str] = "resource"
    stage: ClassVar[Stage] = "resources"
    limit: ClassVar[float] = 900.0  # an image is fetched and uploaded, a balancer takes minutes to come up

    @classmethod
    def key_for(cls, resource: ResourceKey) -> StepKey:
        return StepKey(cls.area, "/".join(resource), cls.verb)

    @property
    def key(self) -> StepKey:
        return self.key_for(self.resource)

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return self.changed

    def describe(self) -> str:
        return f"{self.verb} {self.resource}"

    def calls(self) -> tuple[str, ...]:
        return (f"resource:{self.resource.kind}:{self.verb}",)


@dataclass(frozen=True, slots=True)
class CreateResource(_OnResource):
    verb: ClassVar[str] = "create"

    async def done(self, context: Context) -> bool:
        return self.resource in context.resources

    async def run(self, context: Context, report: Report) -> None:
        provider, spec = _provider(context), _spec(context, self.resource)
        context.check_lock()
        with reporting_to(report):
            context.resources[self.resource] = await provider.create_resource(spec, _known(context))
        learn_endpoint(context.desired, context.provider, context.resources.values())


@dataclass(frozen=True, slots=True)
class UpdateResource(_OnResource):
    verb: ClassVar[str] = "update"

    async def done(self, context: Context) -> bool:
        found, spec = context.resources[self.resource], _spec(context, self.resource)
        return _provider(context).difference(found, spec).change == "none"

    async def run(self, context: Context, report: Report) -> None:
        provider, spec = _provider(context), _spec(context, self.resource)
        context.check_lock()
        with reporting_to(report):
            found = context.resources[self.resource]
            context.resources[self.resource] = await provider.update_resource(found, spec, _known(context))


@dataclass(frozen=True, slots=True)
class DeleteResource(_OnResource):
    shared: bool = False

    verb: ClassVar[str] = "delete"
    stage: ClassVar[Stage] = "removal"

    def describe(self) -> str:
        return f"delete {self.resource}" + (", unless another cluster uses it by then" if self.shared else "")

    async def done(self, context: Context) -> bool:
        return self.resource not in context.resources

    async def run(self, context: Context, report: Report) -> None:
        context.check_lock()
        with reporting_to(report):
            await _provider(context).delete_resource(context.resources[self.resource])
        del context.resources[self.resource]


def _provider(context: Context) -> HasResources:
    if not isinstance(context.provider, HasResources):
        raise Permanent(f"{context.provider.name} has no resources", hint="plan again")
    return context.provider


def _spec(context: Context, key: ResourceKey) -> ResourceSpec:
    return next(one for one in _provider(context).resources() if one.key == key)


def _known(context: Context) -> Known:
    resources: dict[ResourceKey, Resource] = dict(context.resources)
    return Known(resources=resources, machines=dict(context.machines))
