"""Configs are given, and clients get theirs."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from grpclib.const import Status

from talosmith.desired import pki
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.errors import TalosmithError
from talosmith.talos.proto import common_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith.yaml import goyaml
from talosmith_lab import configure
from talosmith_lab.checks import Invalid
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.server.archive import packed
from talosmith_lab.server.methods import Call, answers, fail, need_control_plane
from talosmith_lab.server.roles import ADMIN

_TRY = 60.0


@answers("machine.MachineService/ApplyConfiguration")
def apply(call: Call, request: pb.ApplyConfigurationRequest) -> pb.ApplyConfigurationResponse:
    if not call.maintenance and ADMIN not in call.roles:
        raise fail(Status.PERMISSION_DENIED, "not authorized")
    seconds = request.try_mode_timeout.ToTimedelta().total_seconds() if request.HasField("try_mode_timeout") else _TRY
    mode = pb.ApplyConfigurationRequest.Mode.Name(request.mode)
    try:
        text = request.data.decode()
        done = configure.apply(
            call.world, call.machine, text, mode, dry_run=request.dry_run, try_seconds=seconds  # type: ignore[arg-type]
        )  # fmt: skip
    except (Invalid, UnicodeDecodeError) as refusal:
        raise fail(Status.INVALID_ARGUMENT, str(refusal)) from None
    except configure.Unsupported as refusal:
        raise fail(Status.UNIMPLEMENTED, str(refusal)) from None
    except configure.Busy as refusal:
        raise fail(Status.FAILED_PRECONDITION, str(refusal)) from None
    call.engine.commit()
    message = pb.ApplyConfiguration(warnings=done.warnings, mode=done.mode, mode_details=done.details)
    return pb.ApplyConfigurationResponse(messages=[message])


@answers("machine.MachineService/Kubeconfig")
async def kubeconfig(call: Call, request: object) -> AsyncIterator[common_pb2.Data]:
    need_control_plane(call, "kubeconfig")
    config = call.world.config(call.machine)
    assert config is not None  # noqa: S101 - it is a control plane
    made = admin_kubeconfig(config, call.world.clock_of(call.machine))
    yield common_pb2.Data(bytes=packed({"kubeconfig": made}))


def admin_kubeconfig(config: NodeConfig, now: float) -> bytes:
    authority = config.kubernetes_authority
    assert authority is not None  # noqa: S101 - validation saw to it
    admin = pki.new_leaf(
        authority,
        ["system:masters"],
        common_name="admin",
        lifetime=timedelta(hours=8760),
        now=datetime.fromtimestamp(now, UTC) - timedelta(minutes=1),
    )
    name, user = config.cluster_name, f"admin@{config.cluster_name}"
    cluster = {"server": config.endpoint, "certificate-authority-data": pki.to_base64(authority.certificate)}
    credentials = {
        "client-certificate-data": pki.to_base64(admin.certificate),
        "client-key-data": pki.to_base64(admin.key.reveal()),
    }
    return goyaml.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"context": {"cluster": name, "namespace": "default", "user": user}, "name": user}],
            "current-context": user,
        }
    ).encode()


@answers("machine.MachineService/GenerateClientConfiguration")
def client_config(
    call: Call, request: pb.GenerateClientConfigurationRequest
) -> pb.GenerateClientConfigurationResponse:
    need_control_plane(call, "client configuration")
    config = call.world.config(call.machine)
    assert config is not None and config.authority is not None  # noqa: S101 - it is a control plane
    lifetime = request.crt_ttl.ToTimedelta()
    if lifetime <= timedelta(0):
        raise fail(Status.INVALID_ARGUMENT, "crt_ttl should be positive")
    now = datetime.fromtimestamp(call.world.clock_of(call.machine), UTC)
    try:
        made = new_talosconfig(
            config.cluster_name, config.authority, roles=tuple(request.roles), lifetime=lifetime, now=now
        )
    except TalosmithError as problem:
        raise fail(Status.INVALID_ARGUMENT, str(problem)) from None
    context = made.contexts[config.cluster_name]
    message = pb.GenerateClientConfiguration(
        ca=config.authority.certificate.encode(),
        crt=base64.b64decode(context.crt),
        key=base64.b64decode(context.key.reveal()),
        talosconfig=made.to_text().reveal().encode(),
    )
    return pb.GenerateClientConfigurationResponse(messages=[message])
