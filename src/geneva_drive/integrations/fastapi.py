"""FastAPI and Starlette: a worker inside the application's own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from geneva_drive.drive.drive import Drive
from geneva_drive.worker.worker import Queues


def lifespan(
    drive: Drive, queues: Queues | None = None, concurrency: int = 8
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Return a lifespan that runs a worker as long as the application runs.

    The worker starts before the first request, and drains when the application stops.

    >>> import geneva_drive as gd
    >>> from fastapi import FastAPI
    >>> from geneva_drive.integrations.fastapi import lifespan
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> app = FastAPI(lifespan=lifespan(drive))
    """

    @asynccontextmanager
    async def run_worker(_: object) -> AsyncIterator[None]:
        worker = await asyncio.to_thread(drive.worker, queues, concurrency)
        await asyncio.to_thread(worker.start)
        try:
            yield
        finally:
            await asyncio.to_thread(worker.stop)

    return run_worker
