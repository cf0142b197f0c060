"""What the simulator does before, instead of and after what moto does, by service and action.

`before` raises `AwsError` to refuse a call; `instead` answers it, or leaves it to moto with `None`; `after` sees a
call that had an effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .calls import Call
from .errors import Answer

if TYPE_CHECKING:
    from .world import Cloud

Before = Callable[["Cloud", Call], None]
Instead = Callable[["Cloud", Call], Answer | None]
BEFORE: dict[tuple[str, str], list[Before]] = defaultdict(list)
INSTEAD: dict[tuple[str, str], Instead] = {}
AFTER: dict[tuple[str, str], list[Before]] = defaultdict(list)
F = TypeVar("F", bound=Callable[..., Any])


def before(service: str, *actions: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        for action in actions:
            BEFORE[service, action].append(function)
        return function

    return register


def after(service: str, *actions: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        for action in actions:
            AFTER[service, action].append(function)
        return function

    return register


def instead(service: str, *actions: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        for action in actions:
            INSTEAD[service, action] = function
        return function

    return register
