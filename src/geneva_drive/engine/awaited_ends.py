"""Tells callers of this process that the workflow they wait for has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from geneva_drive.storage.schema.records import Key

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
