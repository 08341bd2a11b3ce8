"""Hints for `/stream`: one reader per process polls the database for all viewers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from geneva_drive.drive.drive import Drive
from geneva_drive.errors import StorageError

logger = logging.getLogger(__name__)

_INTERVAL = 0.15  # seconds between two reads, so that a change arrives within 250 ms
_KEEP_ALIVE = 15.0  # seconds after which a silent connection gets a comment
_MOST_WAITING = 16  # hints that a slow viewer may leave unread

# The meaning of each mark of the database, in the order of `Pages.marks`.
_MEANINGS = (
    *("executions", "steps", "approvals", "events", "audit", "dead_letters"),
    *("steps", "steps", "steps", "executions", "executions"),
)
_GREETING = "retry: 2000\nevent: ready\ndata: {}\n\n"


class HintReader:
    """Reads the marks while there are viewers, and sends each of them what has changed."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._viewers: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None
        self._has_read = asyncio.Event()  # set once `_task` knows the state to compare with

    async def listen(self) -> AsyncIterator[str]:
        """Yield server-sent events until the viewer leaves."""
        waiting: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._viewers.add(waiting)
        if self._task is None or self._task.done():
            self._has_read = asyncio.Event()
            self._task = asyncio.create_task(self._read(self._has_read))
        try:
            # From here on, no change is missed: viewers fetch once more after the greeting.
            await self._has_read.wait()
            yield _GREETING
            while True:
                try:
                    yield await asyncio.wait_for(waiting.get(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._viewers.discard(waiting)

    async def _read(self, has_read: asyncio.Event) -> None:
        before: Sequence[Any] | None = None
        while self._viewers:
            try:
                marks = await run_in_threadpool(self._marks)
            except (StorageError, SQLAlchemyError) as error:
                logger.warning("The stream cannot read the database: %s", error)
            else:
                if before is not None and marks != before:
                    self._tell(before, marks)
                before = marks
                has_read.set()
            await asyncio.sleep(_INTERVAL)

    def _marks(self) -> Sequence[Any]:
        store = self._drive.store
        return store.read(store.pages.marks)

    def _tell(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        pairs = zip(_MEANINGS, before, after, strict=True)
        changed = sorted({meaning for meaning, old, new in pairs if old != new})
        text = f"event: hint\ndata: {json.dumps({'changed': changed})}\n\n"
        for waiting in self._viewers:
            # A slow viewer loses no change: the hints that it has yet to read make it fetch all.
            if not waiting.full():
                waiting.put_nowait(text)
