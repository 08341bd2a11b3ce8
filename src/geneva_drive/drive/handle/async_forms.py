"""The async forms of a handle's calls, which run them on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Self

from geneva_drive.drive.handle.end import HandleEnd
from geneva_drive.drive.handle.fields import W
from geneva_drive.drive.step_execution import FailedItem


class HandleAsyncForms(HandleEnd[W]):
    """`reload` and commands for async code.

    They read everything that the fields show, so that `state` and `next_step_name` need no query
    that would block the event loop.
    """

    async def areload(self) -> Self:
        """Read the workflow again and return the handle, like `reload`."""
        return await self._on_a_thread(self.reload)

    async def apause(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Hold the workflow, like `pause`."""
        return await self._on_a_thread(lambda: self.pause(reason, actor))

    async def aresume(
        self,
        data: Mapping[str, Any] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Continue a paused workflow, like `resume`."""
        return await self._on_a_thread(lambda: self.resume(data, reason, actor))

    async def acancel(
        self, force: bool = False, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """End the workflow, like `cancel`."""
        return await self._on_a_thread(lambda: self.cancel(force, reason, actor))

    async def afailed_items(self, step: object | None = None) -> list[FailedItem]:
        """Return the items that a step skipped, like `failed_items`."""
        return await asyncio.to_thread(self.failed_items, step)

    async def aset_parallelism(
        self,
        step: object,
        n: int | None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Self:
        """Change how many workers of a batch or map run at once, like `set_parallelism`."""
        return await self._on_a_thread(lambda: self.set_parallelism(step, n, actor, reason))

    async def _on_a_thread(self, call: Callable[[], object]) -> Self:
        def call_and_read() -> None:
            call()
            _ = self._oldest  # of a dynamic workflow, `reload` does not read them

        await asyncio.to_thread(call_and_read)
        return self
