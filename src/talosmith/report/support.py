"""What a support bundle holds, in a few lines; what it lacks, by reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from talosmith.report.text import count, listed, one_line


def as_text(file: str, size: int, files: int, masked: int) -> str:
    return (
        f"{file}: {count(files, 'file')}, {max(size // 1024, 1)} KiB; secrets stripped "
        f"({count(masked, 'place')} masked). Read it before you hand it on: names and addresses are in it."
    )


def missing_lines(missing: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Files and reason of each; files that lack for the same reason are one line."""
    by_reason: Mapping[str, list[str]] = {reason: [] for _, reason in missing}
    for file, reason in missing:
        by_reason[reason].append(file)
    if by_reason:
        yield "not collected:"
    for reason, names in by_reason.items():
        yield f"  {listed(names, 3)}: {one_line(reason)}"
