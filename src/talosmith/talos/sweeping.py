"""Asking many nodes the same thing at once, not all at once, and keeping what each of them answered."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from talosmith.errors import TalosmithError, UsageError
from talosmith.talos.node import TalosNode
from talosmith.tasks import together

AT_ONCE = 256  # as many silent nodes may be waited for together; for the others TLS on one core is the limit
MANY = 64
_SELDOM = 50_000  # objects until the next look for garbage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Swept(Generic[T]):
    """By the nodes' names: what each returned, or the error it ended with."""

    results: dict[str, T] = field(default_factory=dict)
    errors: dict[str, TalosmithError] = field(default_factory=dict)


async def sweep(
    nodes: Iterable[TalosNode], ask: Callable[[TalosNode], Awaitable[T]], *, at_once: int = AT_ONCE
) -> Swept[T]:
    """Calls `ask` with each node, at most `at_once` of them together. One node's error does not stop the others."""
    chosen = list(nodes)
    twice = [name for name, count in Counter(node.name for node in chosen).items() if count > 1]
    if twice:
        raise UsageError(f"two nodes are called {twice[0]}", hint="Give each node a name of its own.")
    swept: Swept[T] = Swept()

    async def one(node: TalosNode) -> None:
        try:
            swept.results[node.name] = await ask(node)
        except TalosmithError as wrong:
            swept.errors[node.name] = wrong

    with _seldom_collected(len(chosen) >= MANY):
        await together(one, chosen, at_once)
    return swept


@contextmanager
def _seldom_collected(many: bool) -> Iterator[None]:
    """Connections live as long as the sweep: to look for garbage among them over and over again finds none."""
    before = gc.get_threshold()
    if not many or not 0 < before[0] < _SELDOM:
        yield
        return
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
