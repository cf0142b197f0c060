"""What a Kubernetes API refuses, in its own words: a code, a reason, a message and details, as a `Status`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith_lab.kube.kinds import Kind, Obj


class ApiError(Exception):
    """A refusal. `status` is the object that clients get."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None, **metadata: Any) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata

    @property
    def status(self) -> Obj:
        found: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        found["message"] = self.message
        if self.reason:
            found["reason"] = self.reason
        if self.details is not None:
            found["details"] = self.details
        found["code"] = self.code
        return found

    @property
    def retry_after(self) -> int:
        return int((self.details or {}).get("retryAfterSeconds", 0))


def success(details: Obj | None = None, code: int = 0) -> Obj:
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code:
        status["code"] = code
    return status


def about(kind: Kind, name: str, **more: Any) -> Obj:
    """The details of an error about one object."""
    details: Obj = {}
    if name:
        details["name"] = name
    if kind.group:
        details["group"] = kind.group
    return {**details, "kind": kind.plural, **more}


def not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', about(kind, name))


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def no_such_method() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def already_exists(kind: Kind, name: str, *, generated: bool = False) -> ApiError:
    message = f'{kind.resource} "{name}" already exists'
    if generated:
        message += ", the server was not able to generate a unique name for the object"
    return ApiError(409, "AlreadyExists", message, about(kind, name))


def conflict(kind: Kind, name: str, why: str, subresource: str = "") -> ApiError:
    part = f"/{subresource}" if subresource else ""
    details = about(kind, name)
    details["kind"] += part
    message = f'Operation cannot be fulfilled on {kind.resource}{part} "{name}": {why}'
    return ApiError(409, "Conflict", message, details)


def modified(kind: Kind, name: str) -> ApiError:
    return conflict(
        kind, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Obj] = ()) -> ApiError:
    more = {"causes": list(causes)} if causes else {}
    target = f'{kind.resource} "{name}" is forbidden' if name else f"{kind.resource} is forbidden"
    return ApiError(403, "Forbidden", f"{target}: {why}", about(kind, name, **more))


def invalid(kind: Kind, name: str, causes: Sequence[Obj]) -> ApiError:
    """Of the causes, made by `cause`; all of them are told."""
    told = [f"{one['field']}: {one['message']}" if one.get("field") else str(one["message"]) for one in causes]
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    details = about(kind, name)
    details["kind"] = kind.kind
    shown = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    message = f'{shown} "{name}" is invalid: {text}' if causes else f'{shown} "{name}" is invalid'
    return ApiError(422, "Invalid", message, {**details, "causes": list(causes)})


def cause(reason: str, message: str, field: str) -> Obj:
    return {"reason": reason, "message": message, "field": field}


def required(field: str, why: str = "") -> Obj:
    return cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def invalid_value(field: str, value: Any, why: str) -> Obj:
    return cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {why}", field)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return str(value)


def too_many_requests(message: str, seconds: int, causes: Sequence[Obj] = ()) -> ApiError:
    details: Obj = {}
    if causes:
        details["causes"] = list(causes)
    if seconds:
        details["retryAfterSeconds"] = seconds
    return ApiError(429, "TooManyRequests", message, details)


def expired(message: str, **metadata: Any) -> ApiError:
    return ApiError(410, "Expired", message, **metadata)


def too_large_version(asked: int, current: int) -> ApiError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def internal(message: str) -> ApiError:
    text = f"Internal error occurred: {message}"
    return ApiError(500, "InternalError", text, {"causes": [{"message": message}]})
