"""Tasks over the API: list, status, log, cancelling."""

from __future__ import annotations

from typing import Any

from .errors import denied, failed, invalid
from .routing import Call, route
from .schema import boolean, choice, integer, string, vmid
from .tasks import Task

_LIST = {
    "start": integer(0),
    "limit": integer(0),
    "vmid": vmid(required=False),
    "source": choice("archive", "active", "all"),
    "typefilter": string(),
    "statusfilter": string(),
    "userfilter": string(),
    "errors": boolean(),
    "since": integer(),
    "until": integer(),
}


@route("GET", "/nodes/{node}/tasks", _LIST)
def tasks(call: Call) -> list[dict[str, Any]]:
    found = [task for task in reversed(call.world.tasks.all.values()) if _wanted(call, task)]
    if found:
        call.attributes["total"] = len(found)
    start, limit = call.get("start", 0), call.get("limit", 50)
    return [_row(task) for task in found[start : start + limit if limit else None]]


def _wanted(call: Call, task: Task) -> bool:
    source = call.get("source", "archive")
    filters = (
        task.node == call.node.name,
        _own(call, task) or call.may(f"/nodes/{call.node.name}", "Sys.Audit"),
        source == "all" or (source == "active") == task.running,
        call.get("vmid") in (None, task.id),
        call.get("typefilter") in (None, task.type),
        call.get("userfilter", "") in task.user,
        not call.get("errors") or (not task.running and task.exit != "OK" and not task.exit.startswith("WARNINGS")),
        task.started >= call.get("since", 0),
        task.started <= call.get("until", task.started),
        _status_wanted(call.get("statusfilter"), task),
    )
    return all(filters)


def _status_wanted(wanted: str | None, task: Task) -> bool:
    if wanted is None:
        return True
    kind = (
        "unknown"
        if task.running
        else "ok"
        if task.exit == "OK"
        else "warning"
        if "WARNINGS" in task.exit
        else "error"
    )
    return kind in wanted.lower().split(",")


def _own(call: Call, task: Task) -> bool:
    """A user owns the tasks of all tokens of the user; a token only the tasks of the token."""
    return task.user == call.who.id or (call.who.token is None and task.user.partition("!")[0] == call.who.user)


def _row(task: Task) -> dict[str, Any]:
    view = task.view()
    if task.running:
        view.pop("tokenid", None)
        return view | {"user": task.user, "status": "RUNNING", "saved": "0"}
    return view | {"status": task.exit, "endtime": task.ended}


def _task(call: Call, privilege: str = "Sys.Audit") -> Task:
    task = call.world.tasks.all.get(call.path["upid"])
    if task is None or task.node != call.node.name:
        if not call.path["upid"].startswith("UPID:"):
            raise failed(f"unable to parse worker upid '{call.path['upid']}'")
        raise invalid(upid="no such task")
    if not _own(call, task) and not call.may(f"/nodes/{call.node.name}", privilege):
        raise denied(f"/nodes/{call.node.name}", privilege)
    return task


@route("GET", "/nodes/{node}/tasks/{upid}")
def index(call: Call) -> list[dict[str, str]]:
    return [{"name": "log"}, {"name": "status"}]


@route("GET", "/nodes/{node}/tasks/{upid}/status", protected=True)
def status(call: Call) -> dict[str, Any]:
    task = _task(call)
    return task.view() | ({"status": "running"} if task.running else {"status": "stopped", "exitstatus": task.exit})


@route(
    "GET",
    "/nodes/{node}/tasks/{upid}/log",
    {"start": integer(0), "limit": integer(0), "download": boolean()},
    protected=True,
)
def log(call: Call) -> list[dict[str, Any]]:
    task = _task(call)
    start, limit = call.get("start", 0), call.get("limit", 50)
    call.attributes["total"] = len(task.log)
    rows = [{"n": number, "t": line} for number, line in enumerate(task.log, 1)]
    return rows[start : start + limit if limit else None]


@route("DELETE", "/nodes/{node}/tasks/{upid}")
def cancel(call: Call) -> None:
    call.world.tasks.cancel(_task(call, "Sys.Modify"))
