"""Looking at something from outside while a command runs, as often as one can."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Watching(ABC):
    """Within `with`, in a thread of its own."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    @abstractmethod
    def look(self) -> None: ...

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._over.is_set():
            self.look()
