"""Files that an imported file names: read within limits, from its own folder and nowhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from talosmith import sops
from talosmith.errors import TalosmithError
from talosmith.files.regular import FileTrouble, read_content, shown
from talosmith.inventory.importers.yaml_text import dump_all
from talosmith.inventory.parse import Unreadable, decode


class Unusable(Exception):
    """A file cannot be taken; the text goes on after its name."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a file, decrypted if it was encrypted."""

    file: str  # as the user would type it
    text: str = field(repr=False)
    hidden_in: str = ""  # the encrypted file it was in


def read_bytes(path: Path) -> bytes:
    try:
        return read_content(path)
    except FileTrouble as trouble:
        raise Unusable(str(trouble)) from None
    except ValueError as wrong:  # a name that no file can have
        raise Unusable(f"cannot be read: {wrong}") from None


def read_inside(folder: Path, name: str) -> Content:
    """The file that a name means in `folder`; names and links that lead out of it are refused."""
    path = Path(os.path.normpath(folder / name)) if "\0" not in name else folder
    root = Path(os.path.realpath(folder))
    if path == folder or not Path(os.path.realpath(path)).is_relative_to(root):
        raise Unusable("is not inside the folder that is imported from")
    return _decrypted(path, read_bytes(path))


def _decrypted(path: Path, content: bytes) -> Content:
    file = shown(path)
    try:
        text = decode(content, file)
    except Unreadable as unreadable:
        raise Unusable(f"cannot be used: {unreadable}") from None
    if "sops" not in text:
        return Content(file, text)
    try:
        if path.suffix in (".yaml", ".yml", ".json"):
            if not sops.is_encrypted(path):
                return Content(file, text)
            return Content(file, dump_all(sops.load_all(path)), hidden_in=file)
    except TalosmithError as problem:
        raise Unusable(f"cannot be decrypted: {problem}") from None
    if any(mark in text for mark in ('"sops": {', "\nsops_mac=", "[sops]")):
        raise Unusable("is encrypted in a form other than YAML or JSON")
    return Content(file, text)
