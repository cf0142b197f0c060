"""A request on its way through the API server: faults, who asks, which call, what is allowed, which node."""

from __future__ import annotations

import asyncio
import time
import traceback
from typing import Any

from .access import Identity
from .authentication import authenticate, claimed
from .errors import LockBusy, Refused, failed, invalid_all, lock_timeout
from .faults import Verdict
from .http import BASE, Answer, Request, answer_refused, answer_with
from .routing import Call, Route, check_need, find
from .schema import Malformed, vmid
from .tasks import Task
from .world import Proxmox


class ConnectionLost(Exception):
    """The connection is closed without an answer."""


async def answer(world: Proxmox, node: str, request: Request) -> Answer:
    with world.mutex:
        world.calls.append((request.method, request.api_path, claimed(request)))
        verdict = world.faults.judge(request.method, request.api_path)
    if verdict.lose_request:
        raise ConnectionLost
    try:
        done = await _answer(world, node, request, verdict)
    except Refused as refused:
        await asyncio.sleep(refused.seconds * world.pace.answer_scale)
        done = answer_refused(refused, world.major)
    except Exception as problem:  # of the simulator itself
        traceback.print_exc()
        done = answer_refused(Refused(500, f"the simulator failed: {problem!r}"), world.major)
    if verdict.seconds:
        await asyncio.sleep(verdict.seconds)
    if verdict.lose_answer:
        raise ConnectionLost
    return done


async def _answer(world: Proxmox, node: str, request: Request, verdict: Verdict) -> Answer:
    if verdict.refusal:
        raise verdict.refusal
    if world.faults.pmxcfs_down:
        text = "RPCEnvironment init request failed: Unable to load access control list: Connection refused"
        raise Refused(500, text, empty=True, seconds=3.0)
    route, path, who = _find(world, request)
    call = Call(world, who, node, path)
    until = 0.0
    while True:
        with world.mutex:
            world.agenda.run_due()
            try:
                data = _perform(call, route, request)
            except LockBusy as busy:
                until = until or time.monotonic() + busy.patience * world.pace.answer_scale
                if time.monotonic() >= until:
                    raise failed(busy.prefix + lock_timeout(busy.vmid)) from busy
            else:
                if verdict.kill_task and isinstance(data, str) and data in world.tasks.all:
                    _strike(world, world.tasks.all[data])
                done = answer_with(data, call.attributes)
                done.close = request.upload is not None  # the connection of an upload is not kept
                return done
        await asyncio.sleep(0.002 if world.pace.scale < 1 else 0.05)


def _strike(world: Proxmox, task: Task) -> None:
    """The worker of a task dies. One that makes a VM is interrupted instead and cleans up: the lock that a dead one
    leaves can be taken away by root alone, so no client would ever come to its end (`kill_tasks` does that)."""
    if task.type in ("qmcreate", "qmclone"):
        world.agenda.after(0.0, lambda: world.tasks.cancel(task))  # after its first step, which it cleans up
    else:
        world.tasks.kill(task, "unexpected status")


def _find(world: Proxmox, request: Request) -> tuple[Route, dict[str, str], Identity]:
    """Authentication comes before the refusal of an unknown call."""
    if not request.path.startswith(BASE):
        raise Refused(501, "no such uri", plain=True)
    found = find(request.method, request.parts)
    who = Identity("") if found and found[0].anonymous else authenticate(world, request)
    if found is None:
        raise Refused(501, f"Method '{request.method} {request.api_path}' not implemented")
    return *found, who


def _perform(call: Call, route: Route, request: Request) -> Any:
    _check_path(call)
    upload = request.upload is not None
    try:
        check_need(call, route.need)
    except Refused as refused:
        if upload:
            refused.empty, refused.seconds = True, 3.0
        raise
    call.upload = request.upload
    _pass_on(call)
    if route.protected and call.world.faults.pvedaemon_down:
        raise Refused(595, "Connection refused", empty=True)
    given = dict(request.parameters)
    if upload:
        given |= request.upload.fields
        if request.upload.filename is not None:
            given["filename"] = request.upload.filename
    call.parameters = route.table(call).read({name: given[name] for name in given if name not in call.path})
    return route.handler(call)


def _check_path(call: Call) -> None:
    if "vmid" in call.path:
        try:
            vmid().read(call.path["vmid"])
        except Malformed as problem:
            raise invalid_all({"vmid": str(problem)}) from problem


def _pass_on(call: Call) -> None:
    """To the node of the path, if another node was asked."""
    name = call.path.get("node")
    if name is None or name in (call.local, "localhost"):
        if name == "localhost":
            call.path["node"] = call.local
        return
    node = call.world.nodes.get(name)
    if node is None:
        why = "Temporary failure in name resolution"
        raise failed(f"hostname lookup '{name}' failed - failed to get address info for: {name}: {why}")
    if call.upload is not None:  # kept here at first, and copied by scp
        return
    if not node.online or node.fault == "no route":
        raise Refused(595, "No route to host", empty=True, seconds=3.0)
    if node.fault == "timeout":
        raise Refused(596, "Connection timed out", empty=True, seconds=30.0)
