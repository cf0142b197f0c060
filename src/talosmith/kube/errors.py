"""What can go wrong between us and a Kubernetes API, each as a type of its own.

Callers decide by type: `Temporary` ones are worth another try, `Permanent` ones are not. Each carries the server that
answered, the object it was about, and what the server said, cleaned of anything a terminal would act on.
"""

from __future__ import annotations

from dataclasses import dataclass

from talosmith import foreign_text
from talosmith.errors import Permanent, TalosmithError, Temporary

_LONGEST_SAYING = 6000  # the list of an API server's checks has about 2000


def cleaned(text: str) -> str:
    """Words of a server, made fit to be shown; a server that refuses an object repeats what is in it."""
    return foreign_text.cleaned(text, _LONGEST_SAYING)


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the reasons that a server gives: what kind, about which field, in its words."""

    reason: str
    field: str
    said: str


class KubeError(TalosmithError):
    """The family. `code` is the HTTP status, `reason` Kubernetes' word for it; both empty if there was no answer."""

    def __init__(
        self,
        server: str,
        what: str,
        *,
        about: str = "",
        hint: str = "",
        said: str = "",
        reason: str = "",
        code: int = 0,
        causes: tuple[Cause, ...] = (),
        retry_after: float = 1.0,
    ) -> None:
        super().__init__(": ".join(part for part in (server, about, what) if part), hint=hint)
        self.server = server
        self.about = about
        self.said = said
        self.reason = reason
        self.code = code
        self.causes = causes
        self.retry_after = retry_after


class Unreachable(KubeError, Temporary):
    """No connection, or the connection was lost: the control planes are off, restarting, or cut off."""


class NoConnection(Unreachable):
    """No control plane could be connected to, so nothing was sent."""


class TooSlow(KubeError, Temporary):
    """No answer before the deadline. Whether the server did what was asked is not known."""


class ClockMismatch(KubeError, Temporary):
    """The server's certificate is expired or not valid yet; servers renew theirs, and clocks get set."""


class NotReady(KubeError, Temporary):
    """The server answers, but cannot do this now: overloaded, starting, without etcd, or a webhook is down."""


class Protected(KubeError, Temporary):
    """A disruption budget does not let the pod go. It may later; asking again at once does not help."""


class NotInTime(KubeError, Temporary):
    """What was waited for did not come true; says what was still missing."""


class NotTrusted(KubeError, Permanent):
    """Who answers cannot prove to be the cluster's API server."""


class Refused(KubeError, Permanent):
    """The server does not know who we are."""


class Denied(KubeError, Permanent):
    """The server knows us, but does not allow this."""


class Invalid(KubeError, Permanent):
    """The server refuses what it was given."""


class NotFound(KubeError, Permanent):
    """There is no such object."""


class NotServed(KubeError, Permanent):
    """The server has no such kind of object."""


class AlreadyExists(KubeError, Permanent):
    """The object already exists."""


class Changed(KubeError, Permanent):
    """The object has been changed, or recreated, since it was read."""


class Expired(KubeError, Permanent):
    """The server no longer has that resource version; list again."""


class Failed(KubeError, Permanent):
    """The server tried and could not do it."""


class TooLarge(KubeError, Permanent):
    """More data than we, or the server, take."""


class NotKubernetes(KubeError, Permanent):
    """What answers there does not speak the Kubernetes API."""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another manager has set to another value."""

    owner: str
    field: str


class Conflict(KubeError, Permanent):
    """Fields belong to another manager; `conflicts` lists fields and managers."""

    def __init__(self, server: str, *, about: str, said: str, conflicts: tuple[FieldConflict, ...]) -> None:
        owners: dict[str, list[str]] = {}
        for one in conflicts:
            owners.setdefault(one.owner, []).append(one.field)
        listed = "; ".join(f"{', '.join(fields)} (owned by {owner})" for owner, fields in owners.items())
        super().__init__(
            server,
            f"others have set what we would set: {listed}",
            about=about,
            hint="Leave these fields out, or force it: then they are ours.",
            said=said,
            reason="Conflict",
            code=409,
        )
        self.conflicts = conflicts
