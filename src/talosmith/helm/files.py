"""The files of a chart as templates see them: `.Files`."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from posixpath import basename

from talosmith.helm.go_struct import GoStruct
from talosmith.yaml.kubernetes_out import to_yaml


class Files(Mapping[str, bytes], GoStruct):
    """A map of paths to content, with methods whose names are Helm's."""

    go_names = frozenset({"Get", "GetBytes", "Glob", "AsConfig", "AsSecrets", "Lines"})

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(files)

    def __getitem__(self, name: str) -> bytes:
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def GetBytes(self, name: str) -> bytes:  # noqa: N802
        return self._files.get(name, b"")

    def Get(self, name: str) -> str:  # noqa: N802
        return self.GetBytes(name).decode(errors="replace")

    def Glob(self, pattern: str) -> Files:  # noqa: N802
        matches = glob_pattern(pattern)
        return Files({name: content for name, content in self._files.items() if matches.fullmatch(name)})

    def AsConfig(self) -> str:  # noqa: N802
        return to_yaml({basename(name): content.decode(errors="replace") for name, content in self._files.items()})

    def AsSecrets(self) -> str:  # noqa: N802
        return to_yaml({basename(name): base64.b64encode(content).decode() for name, content in self._files.items()})

    def Lines(self, name: str) -> list[str]:  # noqa: N802
        text = self.Get(name)
        return text.removesuffix("\n").split("\n") if text else []


@lru_cache(maxsize=256)
def glob_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern whose star stops at a slash, two stars do not, and braces hold alternatives."""
    out: list[str] = []
    depth = 0
    place = 0
    while place < len(pattern):
        character = pattern[place]
        place += 1
        if character == "*":
            if pattern.startswith("*", place):
                place += 1
                out.append(".*")
            else:
                out.append("[^/]*")
        elif character == "?":
            out.append("[^/]")
        elif character == "[" and "]" in pattern[place + 1 :]:
            end = pattern.index("]", place + 1)
            out.append(f"[{pattern[place:end].replace('!', '^', 1)}]")
            place = end + 1
        elif character == "{":
            depth += 1
            out.append("(?:")
        elif character == "}" and depth:
            depth -= 1
            out.append(")")
        elif character == "," and depth:
            out.append("|")
        else:
            if character == "\\" and place < len(pattern):
                character = pattern[place]
                place += 1
            out.append(re.escape(character))
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return re.compile(".*", re.DOTALL)  # Helm, too, takes a broken pattern for "everything"
