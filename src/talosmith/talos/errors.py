"""What can go wrong between us and a node, each as a type of its own.

Callers decide by type: `Temporary` ones are worth another try, `Permanent` ones are not. Each carries the node's
name, the call, and what the node said, cleaned of anything a terminal would act on.
"""

from __future__ import annotations

from talosmith.errors import Permanent, TalosmithError, Temporary


class TalosError(TalosmithError):
    """The family. `node` is its name, `call` what was asked, `said` its own words, `code` the gRPC status if any."""

    def __init__(
        self, node: str, what: str, *, hint: str = "", call: str = "", said: str = "", code: str = ""
    ) -> None:
        super().__init__(f"{node}: {what}", hint=hint)
        self.node = node
        self.call = call
        self.said = said
        self.code = code


class Unreachable(TalosError, Temporary):
    """No connection, or the connection was lost: the node is off, booting, rebooting, or cut off."""


class TooSlow(TalosError, Temporary):
    """No answer before the deadline. Whether the node did what was asked is not known."""


class ClockMismatch(TalosError, Temporary):
    """The node's certificate is expired or not yet valid, or ours is by the node's clock.

    Nodes issue new certificates once their clock is set by a time server.
    """


class NotReady(TalosError, Temporary):
    """The node answers, but cannot do this now."""


class InMaintenance(TalosError, Temporary):
    """The node has no config, and one with a config was expected. It takes a while after a config was applied.

    `said` is the fingerprint of its certificate, which is another one after each boot.
    """


class NotInMaintenance(TalosError, Permanent):
    """The node has a config already, and one without was expected."""


class NotTrusted(TalosError, Permanent):
    """Who answers cannot prove to be the node: another authority, another name, another fingerprint."""


class Refused(TalosError, Permanent):
    """The node does not accept our client certificate, or we have none that is valid."""


class Denied(TalosError, Permanent):
    """The node knows us, but our role does not allow this."""


class Invalid(TalosError, Permanent):
    """The node refuses what it was given, such as a config."""


class NotFound(TalosError, Permanent):
    """There is no such thing on the node."""


class AlreadyExists(TalosError, Permanent):
    """The thing already exists, such as etcd data at a bootstrap."""


class Unsupported(TalosError, Permanent):
    """The Talos on the node does not have this call."""


class Failed(TalosError, Permanent):
    """The node tried and could not do it."""


class TooLarge(TalosError, Permanent):
    """More data than we take."""


class NotTalos(TalosError, Permanent):
    """What answers there does not speak the Talos API."""
