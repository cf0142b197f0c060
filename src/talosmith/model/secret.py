"""A secret value: its `str` and `repr` are `***`."""

from __future__ import annotations


class Secret:
    """Text that only `reveal()` returns. Not a `str`, so that formatting cannot leak it."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Secret does not change")

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Secret is not pickled")
