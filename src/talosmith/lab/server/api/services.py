"""Services: listed, started, stopped."""

from __future__ import annotations

from grpclib.const import Status

from talosmith.lab import services
from talosmith.lab.machine import Service
from talosmith.lab.server.api.system import timestamp
from talosmith.lab.server.methods import Call, answers, fail
from talosmith.talos.proto import machine_pb2 as pb

_FIXED = frozenset({"apid", "auditd", "containerd", "dashboard", "machined", "syslogd", "trustd", "udevd"})


@answers("machine.MachineService/ServiceList")
def service_list(call: Call, request: object) -> pb.ServiceListResponse:
    found = call.machine.run.services if call.machine.run else {}
    listed = [_info(name, service) for name, service in sorted(found.items())]
    return pb.ServiceListResponse(messages=[pb.ServiceList(services=listed)])


@answers("machine.MachineService/ServiceStart")
def start(call: Call, request: pb.ServiceStartRequest) -> pb.ServiceStartResponse:
    _check(call, request.id, "start")
    services.start_again(call.world, call.machine, request.id)
    call.engine.commit()
    return pb.ServiceStartResponse(messages=[pb.ServiceStart(resp=f'Service "{request.id}" started')])


@answers("machine.MachineService/ServiceStop")
def stop(call: Call, request: pb.ServiceStopRequest) -> pb.ServiceStopResponse:
    _check(call, request.id, "stop")
    _stop(call, request.id)
    call.engine.commit()
    return pb.ServiceStopResponse(messages=[pb.ServiceStop(resp=f'Service "{request.id}" stopped')])


@answers("machine.MachineService/ServiceRestart")
def restart(call: Call, request: pb.ServiceRestartRequest) -> pb.ServiceRestartResponse:
    _check(call, request.id, "restart")
    _stop(call, request.id)
    services.start_again(call.world, call.machine, request.id)
    call.engine.commit()
    return pb.ServiceRestartResponse(messages=[pb.ServiceRestart(resp=f'Service "{request.id}" restarted')])


def _stop(call: Call, name: str) -> None:
    services.stop(call.world, call.machine, name, requested=True)
    cluster = call.world.etcd_of(call.machine)
    if name == services.ETCD and cluster is not None:
        call.world.touch_cluster(cluster.uid)


def _check(call: Call, name: str, what: str) -> None:
    if call.machine.service(name) is None:
        raise fail(Status.NOT_FOUND, f'service "{name}" not found')
    if name in _FIXED:
        raise fail(Status.UNKNOWN, f'service "{name}" doesn\'t support {what} operation via API')


def _info(name: str, service: Service) -> pb.ServiceInfo:
    events = [pb.ServiceEvent(msg=one.message, state=one.state, ts=timestamp(one.at)) for one in service.events]
    health = pb.ServiceHealth(
        unknown=service.healthy is None,
        healthy=bool(service.healthy),
        last_message=service.health_message,
        last_change=timestamp(service.health_since),
    )
    return pb.ServiceInfo(id=name, state=service.state, events=pb.ServiceEvents(events=events), health=health)
