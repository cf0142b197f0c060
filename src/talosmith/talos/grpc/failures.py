"""What a node answered instead of a result, as our errors. The table says which are worth another try, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from google.protobuf.message import DecodeError
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.exceptions import H2Error

from talosmith.foreign_text import cleaned
from talosmith.talos import errors
from talosmith.talos.errors import TalosError
from talosmith.talos.grpc import connecting
from talosmith.talos.grpc.call import MessageTooLarge
from talosmith.talos.grpc.channel import NodeChannel
from talosmith.talos.grpc.connecting import IS_IT_TALOS
from talosmith.talos.grpc.http2 import Nonsense
from talosmith.talos.proto.common_pb2 import Metadata

_MEANINGS: dict[Status, tuple[type[TalosError], str]] = {
    # The node is going down, or a proxy gave up on it.
    Status.CANCELLED: (errors.NotReady, "The node ended the call; it may be shutting down."),
    # Talos' handlers answer so for any plain error, and most of those are services that are not up yet.
    Status.UNKNOWN: (errors.NotReady, ""),
    Status.INVALID_ARGUMENT: (errors.Invalid, ""),
    Status.DEADLINE_EXCEEDED: (errors.TooSlow, "Whether the node did it is not known; ask it."),
    Status.NOT_FOUND: (errors.NotFound, ""),
    Status.ALREADY_EXISTS: (errors.AlreadyExists, ""),
    Status.PERMISSION_DENIED: (
        errors.Denied,
        "The client certificate's role does not allow this; os:admin allows everything. "
        "In maintenance mode only reading and applying a config are allowed, and workers do not pass calls on.",
    ),
    # etcd with too much to do, or another call in the way.
    Status.RESOURCE_EXHAUSTED: (errors.NotReady, ""),
    # Waiting for time sync, for etcd to be ready for a bootstrap, for another apply to end.
    Status.FAILED_PRECONDITION: (errors.NotReady, ""),
    Status.ABORTED: (errors.NotReady, ""),
    Status.OUT_OF_RANGE: (errors.Invalid, ""),
    Status.UNIMPLEMENTED: (
        errors.Unsupported,
        "The Talos on the node is older or newer than this call, or it is for control planes only.",
    ),
    # Talos uses it for an installer, a wipe or an import that failed.
    Status.INTERNAL: (errors.Failed, ""),
    Status.UNAVAILABLE: (errors.NotReady, "A service behind the API is not up; the node may be booting."),
    Status.DATA_LOSS: (errors.Failed, ""),
    Status.UNAUTHENTICATED: (errors.Denied, "The node does not know who we are. Is a client certificate given?"),
}
# Talos gives these the same status as things that pass.
_FOR_GOOD = ("not supported", "doesn't support", "not defined", "was not registered")
_TOO_LARGE = "larger than max"  # what Go's gRPC says when a message exceeds the node's own limit


def from_status(node: str, call: str, status: Status, message: str | None) -> TalosError:
    said = cleaned(message or "")
    if status is Status.RESOURCE_EXHAUSTED and _TOO_LARGE in said:
        kind: type[TalosError] = errors.TooLarge
        hint = "The node refuses messages of more than 32 MiB."
    else:
        kind, hint = _MEANINGS.get(status, (errors.Failed, ""))
    if kind is errors.NotReady and any(words in said for words in _FOR_GOOD):
        kind = errors.Unsupported
    what = f"{call}: {said or 'no reason given'} ({status.name})"
    return kind(node, what, hint=hint, call=call, said=said, code=status.name)


def hidden_failure(node: str, call: str, metadata: Metadata) -> TalosError | None:
    """What a proxied call tells only inside its successful answer."""
    if not metadata.error and not metadata.status.code:
        return None
    try:
        status = Status(metadata.status.code or Status.UNKNOWN.value)
    except ValueError:
        status = Status.UNKNOWN
    who = cleaned(metadata.hostname) or node
    return from_status(who, call, status, metadata.status.message or metadata.error)


@contextmanager
def translated(channel: NodeChannel, node: str, call: str, timeout: float) -> Iterator[None]:
    """Errors of the libraries beneath, raised inside, come out as ours."""
    try:
        yield
    except TalosError:
        raise
    except GRPCError as wrong:
        raise from_status(node, call, wrong.status, wrong.message) from None
    except TimeoutError:
        raise _too_slow(channel, node, call, timeout) from None
    except MessageTooLarge as wrong:
        raise errors.TooLarge(
            node, f"{call}: the node sends {wrong}", hint="No healthy node does; look at what runs there.", call=call
        ) from None
    except (StreamTerminatedError, H2Error, ConnectionError) as wrong:
        raise _lost(channel, node, call, wrong) from None
    except (Nonsense, DecodeError, AssertionError, ValueError, KeyError) as wrong:
        # Each of them is how a library stumbles over an answer that is not what it should be.
        detail = f": {cleaned(str(wrong))}" if isinstance(wrong, Nonsense) else ""
        raise errors.NotTalos(
            node, f"{call}: the answer is not one of the Talos API{detail}", hint=IS_IT_TALOS, call=call
        ) from None


def _too_slow(channel: NodeChannel, node: str, call: str, timeout: float) -> TalosError:
    if channel.stage != "ready":
        return connecting.too_slow(node, channel.stage, timeout)
    if channel.protocol is not None:
        channel.protocol.suspect()
    return errors.TooSlow(
        node,
        f"{call}: no answer within {timeout:g} s (context deadline exceeded)",
        hint="Whether the node carried out the call is not known: read its state before a retry.",
        call=call,
    )


def _lost(channel: NodeChannel, node: str, call: str, wrong: Exception) -> TalosError:
    protocol = channel.protocol
    reason = protocol.reason if protocol is not None and protocol.reason else str(wrong)
    if isinstance(wrong, StreamTerminatedError) and reason.startswith("Stream reset"):
        return errors.NotReady(
            node,
            f"{call}: the node ended the call ({cleaned(reason)})",
            hint="It may be shutting down. Whether the request was carried out is not known.",
            call=call,
        )
    if reason == "Protocol error":
        return errors.NotTalos(node, f"{call}: the answer is not HTTP/2", hint=IS_IT_TALOS, call=call)
    return errors.Unreachable(
        node,
        f"{call}: the connection was lost ({cleaned(reason)})",
        hint="The node may be rebooting. Whether the request was carried out is not known.",
        call=call,
    )
