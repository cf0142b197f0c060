"""What a server answered instead of a result, as our errors. The table says which are worth another try."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from talosmith.desired.validity import SET_CLOCKS, clock
from talosmith.kube import errors
from talosmith.kube.errors import Cause, Conflict, FieldConflict, KubeError, cleaned

_BY_REASON: dict[str, tuple[type[KubeError], str]] = {
    "Unauthorized": (errors.Refused, "The server does not accept our certificate or token; is it of this cluster?"),
    "Forbidden": (
        errors.Denied,
        "Our user lacks the right; a client made from the secrets bundle may do everything.",
    ),
    "NotFound": (errors.NotFound, ""),
    "AlreadyExists": (errors.AlreadyExists, ""),
    "Conflict": (errors.Changed, "Read it again, then decide again."),
    "Gone": (errors.Expired, ""),
    "Expired": (errors.Expired, ""),
    "Invalid": (errors.Invalid, ""),
    "BadRequest": (errors.Invalid, ""),
    "MethodNotAllowed": (errors.NotServed, ""),
    "UnsupportedMediaType": (errors.NotServed, ""),
    "NotAcceptable": (errors.NotServed, ""),
    "RequestEntityTooLarge": (errors.TooLarge, "Kubernetes takes about 1.5 MB per object."),
    "TooManyRequests": (errors.NotReady, "The server has too much to do."),
    # etcd trouble, and webhooks that do not answer yet, come so; both pass.
    "InternalError": (errors.NotReady, ""),
    "ServerTimeout": (errors.NotReady, ""),
    "StoreReadError": (errors.Failed, "etcd holds an object that cannot be read; was the encryption key changed?"),
    "Timeout": (errors.TooSlow, "Whether the server did it is not known; ask it."),
    "ServiceUnavailable": (errors.NotReady, "The server is starting, or has lost etcd."),
}
_BY_CODE = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    502: "ServiceUnavailable",
    503: "ServiceUnavailable",
    504: "Timeout",
}
# The server says 500 to a typo in a field's name or a value of the wrong type, when it is applied.
_MISSHAPEN = re.compile(
    r"failed to create typed patch .*(field not declared|expected )|failed to convert new object .*decoding",
    re.DOTALL,
)
_SKEW = timedelta(minutes=5)  # less is no reason to refuse a certificate: ours begin an hour early
_TWO_BUDGETS = "more than one PodDisruptionBudget"
_SHOWN_VALUE = re.compile(r"\bgot\b.*", re.DOTALL)  # the server tells what it got, even of a Secret
_OWNER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"(?: with subresource "[^"]*")?(?: using \S+)?')


def from_answer(server: str, about: str, code: int, body: bytes, retry_after: str = "") -> KubeError:
    """An answer of 400 and above."""
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, Mapping) or status.get("kind") != "Status":
        return _foreign(server, about, code, body, retry_after)
    return from_status(server, about, status, code, retry_after)


def by_the_clock(refused: errors.Refused, date: str) -> errors.Refused:
    """Unauthorized is also the answer to a client certificate outside its validity period by the server's clock."""
    try:
        theirs = parsedate_to_datetime(date)
        ours = datetime.now(UTC)
        if abs(theirs - ours) < _SKEW:
            return refused
    except (ValueError, TypeError):  # no date, or one without a time zone
        return refused
    clocks = f"the server's clock says {clock(theirs)}, this computer's clock says {clock(ours)}"
    return errors.Refused(
        refused.server,
        f"client certificate may be expired or not yet valid by the server's clock: {clocks} ({refused.said})",
        about=refused.about,
        hint=SET_CLOCKS,
        said=refused.said,
        reason=refused.reason,
        code=refused.code,
    )


def from_status(
    server: str, about: str, status: Mapping[str, Any], code: int = 0, retry_after: str = ""
) -> KubeError:
    """A `Status` object, as it also comes in the middle of a watch."""
    code = code or int(status.get("code") or 500)
    said = _words(about, status.get("message"))
    details = status.get("details") or {}
    causes = tuple(
        Cause(str(one.get("reason", "")), str(one.get("field", "")), _words(about, one.get("message")))
        for one in details.get("causes") or ()
    )
    reason = str(status.get("reason") or _BY_CODE.get(code, ""))
    conflicts = tuple(
        FieldConflict(_owner(cause.said), cause.field) for cause in causes if cause.reason == "FieldManagerConflict"
    )
    if conflicts:
        return Conflict(server, about=about, said=said, conflicts=conflicts)
    kind, hint = _BY_REASON.get(reason, (errors.NotReady if code >= 500 else errors.Failed, ""))
    if any(cause.reason == "NamespaceTerminating" for cause in causes):
        kind, hint = errors.NotReady, "The namespace is being deleted; it can be created again once it is gone."
    elif any(cause.reason == "DisruptionBudget" for cause in causes) or (code == 500 and _TWO_BUDGETS in said):
        kind, hint = errors.Protected, "Let the other pods of its kind become healthy, or change the budget."
    elif code == 500 and _MISSHAPEN.search(said):
        kind, hint = errors.Invalid, "Is the field spelled as the API has it, and known to this version of it?"
    return kind(
        server,
        said or reason or f"HTTP {code}",
        about=about,
        hint=hint,
        said=said,
        reason=reason,
        code=code,
        causes=causes,
        retry_after=_seconds(retry_after, details),
    )


def _foreign(server: str, about: str, code: int, body: bytes, retry_after: str) -> KubeError:
    """Not in Kubernetes' form: from a proxy or a load balancer, from the server's filters, or from something else."""
    said = cleaned(body.decode(errors="replace"))
    reason = _BY_CODE.get(code, "")
    what = f"HTTP {code}: {said[:300]}" if said else f"HTTP {code}"
    if code == 429 or code >= 500:
        return errors.NotReady(
            server, what, about=about, said=said, reason=reason, code=code, retry_after=_seconds(retry_after, {})
        )
    kind, hint = _BY_REASON.get(reason, (errors.NotKubernetes, "Is this the address of a control plane?"))
    return kind(server, what, about=about, hint=hint, said=said, reason=reason, code=code)


def _words(about: str, text: Any) -> str:
    words = cleaned(str(text or ""))
    return _SHOWN_VALUE.sub("got something else", words) if about.startswith("Secret ") else words


def _seconds(header: str, details: Mapping[str, Any]) -> float:
    if header.isascii() and header.isdigit():
        return float(header)
    return float(details.get("retryAfterSeconds") or 1.0)


def _owner(said: str) -> str:
    found = _OWNER.search(said)
    return found[1] if found else said
