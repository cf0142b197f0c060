"""Services: listed, started, stopped."""

from __future__ import annotations

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab import services
from talosmith_lab.machine import Service
from talosmith_lab.server.api.system import timestamp
from talosmith_lab.server.methods import Call, answers, fail

_RESTARTABLE = "kubelet"  # nothing else of Talos' own is stopped or started by request


@answers("machine.MachineService/ServiceList")
def service_list(call: Call, request: object) -> pb.ServiceListResponse:
    found = call.machine.run.services if call.machine.run else {}
    listed = [_info(name, service) for name, service in sorted(found.items())]
    return pb.ServiceListResponse(messages=[pb.ServiceList(services=listed)])


@answers("machine.MachineService/ServiceStart")
def start(call: Call, request: pb.ServiceStartRequest) -> pb.ServiceStartResponse:
    _find(call, request.id)
    if not call.machine.runs(request.id):
        _check(request.id, "start")
    services.start_again(call.world, call.machine, request.id)
    call.engine.commit()
    return pb.ServiceStartResponse(messages=[pb.ServiceStart(resp=f'Service "{request.id}" started')])


@answers("machine.MachineService/ServiceStop")
def stop(call: Call, request: pb.ServiceStopRequest) -> pb.ServiceStopResponse:
    """Only services of extensions are, and no simulated node has any."""
    _find(call, request.id)
    raise _not_offered(request.id, "stop")


@answers("machine.MachineService/ServiceRestart")
def restart(call: Call, request: pb.ServiceRestartRequest) -> pb.ServiceRestartResponse:
    _find(call, request.id)
    _check(request.id, "restart")
    services.stop(call.world, call.machine, request.id)
    services.start_again(call.world, call.machine, request.id)
    call.engine.commit()
    return pb.ServiceRestartResponse(messages=[pb.ServiceRestart(resp=f'Service "{request.id}" restarted')])


def _find(call: Call, name: str) -> None:
    if call.machine.service(name) is None:
        raise fail(Status.NOT_FOUND, f'service "{name}" not found')


def _check(name: str, what: str) -> None:
    if name != _RESTARTABLE:
        raise _not_offered(name, what)


def _not_offered(name: str, what: str) -> GRPCError:
    return fail(Status.UNKNOWN, f'service "{name}" doesn\'t support {what} operation via API')


def _info(name: str, service: Service) -> pb.ServiceInfo:
    events = [pb.ServiceEvent(msg=one.message, state=one.state, ts=timestamp(one.at)) for one in service.events]
    health = pb.ServiceHealth(
        unknown=service.healthy is None,
        healthy=bool(service.healthy),
        last_message=service.health_message,
        last_change=timestamp(service.health_since),
    )
    return pb.ServiceInfo(id=name, state=service.state, events=pb.ServiceEvents(events=events), health=health)
