"""Whether an image can be had, before anything is made of it."""

from __future__ import annotations

from pathlib import Path

import httpx2

from talosmith.errors import TalosmithError
from talosmith.providers.base import Finding
from talosmith.providers.images.fetching import Source, peek, prove


def check_source(source: Source, cache: Path | None, check: str = "image") -> Finding:
    """That it is here, or its server answers. In a thread."""
    try:
        if peek(source, cache):
            return Finding(level="ok", check=check, evidence=f"{source.place}, fetched before")
        if not source.is_url:
            prove(source)
            return Finding(level="ok", check=check, evidence=source.place)
    except TalosmithError as problem:
        return Finding(level="error", check=check, cause=str(problem), evidence=source.place, fix=problem.hint)
    try:
        answer = httpx2.head(source.place, follow_redirects=True, timeout=5.0)
    except httpx2.HTTPError as problem:
        return Finding(
            level="warning", check=check, cause=f"the image cannot be reached: {problem}", evidence=source.place,
            fix=f"without a way to the internet set `{source.setting}` to a file on this computer",
        )  # fmt: skip
    if answer.status_code >= 400 and not source.schematic:
        fix = f"check `{source.setting}` in the inventory"
        cause = f"the image's server answers {answer.status_code}"
        return Finding(level="error", check=check, cause=cause, evidence=source.place, fix=fix)
    proof = "" if source.checksum else "; no checksum is given, so TLS alone vouches for it"
    return Finding(level="ok", check=check, evidence=source.place + proof)
