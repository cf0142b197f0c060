"""Lists page by page: where a page ends, how a client asks for the next, and what it is told of both."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from talosmith_lab.kube.errors import bad_request
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.storage import Stored

TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    items: list[Stored]
    revision: int
    more: str = ""  # the token for the next page
    remaining: int | None = None

    @property
    def metadata(self) -> Obj:
        metadata: Obj = {"resourceVersion": str(self.revision)}
        if self.more:
            metadata["continue"] = self.more
            if self.remaining is not None:
                metadata["remainingItemCount"] = self.remaining
        return metadata


def number(version: str) -> int:
    """A resourceVersion; 0 if none is given."""
    if not version:
        return 0
    try:
        return int(version)
    except ValueError:
        problem = (
            f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        )
        raise bad_request(f"invalid resource version: {problem}") from None


def token(revision: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_token(text: str) -> tuple[int, str]:
    try:
        data = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return int(data["rv"]), str(data["start"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        problem = "continue key is not valid: illegal base64 data at input byte 0"
        raise bad_request(f"invalid continue token: {problem}") from None
