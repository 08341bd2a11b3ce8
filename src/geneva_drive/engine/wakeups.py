"""Wake-ups: tell workers of something to do, and callers of the end that they wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.schema.records import Key


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


Tell = Callable[[], object]


class AwaitedEnds:
    """The callers that wait, by workflow; only a hint, as each caller also polls."""

    def __init__(self) -> None:
        self._listeners: dict[Key, tuple[Tell, ...]] = {}
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        return not self._listeners

    def listen(self, workflow_id: Key, tell: Tell) -> Callable[[], None]:
        """Call `tell`, which must not raise, when the workflow ends; return what ends that.

        It is called on the thread that committed the end.
        """
        with self._lock:
            self._listeners[workflow_id] = (*self._listeners.get(workflow_id, ()), tell)

        def leave() -> None:
            with self._lock:
                others = tuple(one for one in self._listeners[workflow_id] if one is not tell)
                if others:
                    self._listeners[workflow_id] = others
                else:
                    del self._listeners[workflow_id]

        return leave

    def tell(self, workflow_ids: Iterable[Key]) -> None:
        for workflow_id in workflow_ids:
            for tell in self._listeners.get(workflow_id, ()):
                tell()
