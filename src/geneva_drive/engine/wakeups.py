"""Wake-ups: tell workers that there may be something to do."""

from __future__ import annotations

import threading
from collections.abc import Callable

from geneva_drive.storage.dialects.hints import Hints


class Wakeups:
    """Rings the bells of waiting workers; only a hint, as polling always finds what is due."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self._listeners: tuple[threading.Event, ...] = ()
        self._lock = threading.Lock()

    def listen(self, bell: threading.Event) -> Callable[[], None]:
        with self._lock:
            self._listeners += (bell,)

        def leave() -> None:
            with self._lock:
                self._listeners = tuple(b for b in self._listeners if b is not bell)

        return leave

    def ring(self) -> None:
        """Wake the workers of this process at once, and others through the database."""
        self.ring_here()
        self.hints.send()

    def ring_here(self) -> None:
        for bell in self._listeners:
            bell.set()
