"""Wake-ups: notify workers of due executions, and callers of the end of their workflow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.schema.records import Key


class Wakeups:
    """Wakes waiting workers; only a hint, because polling finds every due execution."""

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


Notify = Callable[[], object]


class AwaitedEnds:
    """The callers that wait for the end of a workflow; only a hint, because they also poll."""

    def __init__(self) -> None:
        self._listeners: dict[Key, tuple[Notify, ...]] = {}
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        return not self._listeners

    def listen(self, workflow_id: Key, notify: Notify) -> Callable[[], None]:
        """Call `notify` when the workflow ends; return a function that stops listening.

        `notify` runs on the thread that committed the end, and must not raise.
        """
        with self._lock:
            self._listeners[workflow_id] = (*self._listeners.get(workflow_id, ()), notify)

        def leave() -> None:
            with self._lock:
                others = tuple(one for one in self._listeners[workflow_id] if one is not notify)
                if others:
                    self._listeners[workflow_id] = others
                else:
                    del self._listeners[workflow_id]

        return leave

    def notify(self, workflow_ids: Iterable[Key]) -> None:
        for workflow_id in workflow_ids:
            for notify in self._listeners.get(workflow_id, ()):
                notify()
