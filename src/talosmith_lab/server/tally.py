"""What the lab was asked for since it runs: by machine and method, how often, and how often it was carried out.

It shows whether a client did more than it announced, or did a thing twice.
"""

from __future__ import annotations

from collections import Counter


class Tally:
    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._done: Counter[str] = Counter()

    def asked(self, machine: str, method: str) -> None:
        """Also what a fault keeps from being carried out."""
        self._asked[_key(machine, method)] += 1

    def done(self, machine: str, method: str) -> None:
        """Also calls whose answer is lost."""
        self._done[_key(machine, method)] += 1

    def as_data(self) -> dict[str, dict[str, int]]:
        """By `machine method`; the machine is `-` where a call is for none."""
        return {key: {"asked": self._asked[key], "done": self._done[key]} for key in sorted(self._asked)}


def _key(machine: str, method: str) -> str:
    return f"{machine or '-'} {method.rpartition('/')[2]}"
