"""One event loop for all async bodies of a Drive, on its own thread."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from geneva_drive.engine import timed_coroutine
from geneva_drive.engine.timed_coroutine import Report


class BodyTimedOut(Exception):
    """An async body was cancelled at its timeout."""


class _Interrupted(Exception):
    """Carries an interrupt out of a task; raised there, it would stop the loop for all bodies."""

    def __init__(self, interrupt: BaseException) -> None:
        self.interrupt = interrupt


class LoopThread:
    """The thread of the event loop; the first async body starts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()

    def run(self, body: Coroutine[Any, Any, Any], timeout: timedelta | None, report: Report) -> Any:
        """Await `body` on the loop; return its result to the calling thread.

        `report` is called if the body blocks the loop.
        """
        context = contextvars.copy_context()
        timed_coroutine.time_in(context, report)
        future = asyncio.run_coroutine_threadsafe(
            _within(body, timeout, context), self._running_loop()
        )
        try:
            return future.result()
        except _Interrupted as carrier:
            raise carrier.interrupt from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            self._is_closing.set()
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=5)
            if not thread.is_alive():
                loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_task_factory(timed_coroutine.make_task)
                self._is_closing = threading.Event()
                self._thread = threading.Thread(
                    target=_serve, args=(loop, self._is_closing), name="geneva-async", daemon=True
                )
                self._thread.start()
                self._loop = loop
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop, is_closing: threading.Event) -> None:
    while not is_closing.is_set():
        # A task that a body started may raise these. The code that awaits the task gets the error,
        # and the loop must continue for all other bodies.
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


async def _within(
    body: Coroutine[Any, Any, Any], timeout: timedelta | None, context: contextvars.Context
) -> Any:
    # With the caller's context variables, as `asyncio.run` would do.
    task = asyncio.get_running_loop().create_task(_carrying(body), context=context)
    seconds = None if timeout is None else timeout.total_seconds()
    try:
        async with asyncio.timeout(seconds) as scope:
            return await task
    except TimeoutError as error:
        if scope.expired():
            raise BodyTimedOut from error
        raise


async def _carrying(body: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await body
    except (KeyboardInterrupt, SystemExit) as interrupt:
        raise _Interrupted(interrupt) from interrupt
