"""Resumable steps and what `it` gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any, assert_type

from sqlalchemy.orm import Session

import geneva_drive as gd


async def letters() -> AsyncIterator[str]:
    yield "a"


async def fetch(token: Any) -> tuple[list[int], str | None]:
    return [1], token


class Import(gd.Workflow):
    @gd.resumable_step
    def bare(self, it: gd.IterableStep) -> None:
        assert_type(it.iterate_over([1, 2]), Iterator[int])
        pairs: list[tuple[str, int]] = [("a", 1)]
        assert_type(it.iterate_over(pairs, with_cursors=True), Iterator[str])
        assert_type(it.iterate_over([1, 2], batch_size=10), Iterator[list[int]])
        assert_type(it.iterate_over(pairs, with_cursors=True, batch_size=10), Iterator[list[str]])
        assert_type(it.iterate_over_csv("a.csv"), Iterator[dict[str | None, Any]])
        assert_type(
            it.iterate_over_csv("a.csv", batch_size=10), Iterator[list[dict[str | None, Any]]]
        )
        assert_type(it.iterate_over_pages(lambda token: ([1.5], None)), Iterator[float])
        assert_type(it.nested(pairs, lambda item: [(len(item), 3)]), Iterator[tuple[str, int]])
        assert_type(it.iterate_over_record_batches(None, batch_size=10), Iterator[gd.RecordBatch])
        assert_type(it.resumed, bool)
        assert_type(it.progress(total=10), gd.IterationProgress)
        it.throttle(lambda: False, backoff=timedelta(seconds=5))

    @gd.resumable_step(
        max_iterations=10,
        max_runtime=timedelta(minutes=5),
        iteration_limit=1000,
        checkpoint_every=timedelta(seconds=1),
        start=0,
        on_item_error="skip",
        max_item_errors=3,
        partitions=4,
        on_exception="reattempt",
        transaction=True,
        keep_result=True,
    )
    def full(self, it: gd.IterableStep, session: Session) -> int:
        for number in it.iterate_over(range(3)):
            session.get(object, number)
        return 1

    @gd.resumable_step(checkpoint_every=100)
    async def awaited(self, it: gd.AsyncIterableStep) -> None:
        assert_type(it.iterate_over([1, 2]), AsyncIterator[int])
        assert_type(it.iterate_over(letters()), AsyncIterator[str])
        assert_type(it.iterate_over(letters(), batch_size=10), AsyncIterator[list[str]])
        assert_type(it.iterate_over_csv("a.csv", 10), AsyncIterator[list[dict[str | None, Any]]])
        assert_type(it.iterate_over_pages(fetch), AsyncIterator[int])
        await it.set(3)
        await it.checkpoint()

    @gd.step
    def after(self) -> None:
        assert_type(self.result_of(Import.full), int)
        self.reattempt(wait=5, rewind=True)


def calling(workflow: Import, it: gd.IterableStep, session: Session) -> None:
    assert_type(workflow.full(it, session), int)


def looking(handle: gd.WorkflowHandle[Import]) -> None:
    execution = handle.step_executions[0]
    assert_type(execution.completed_iterations, int)
    assert_type(execution.progress, gd.IterationProgress | None)
    assert_type(execution.checkpoint_history, list[gd.Checkpoint])
    handle.rewind(Import.full, to=3, actor="ada", reason="again")
    handle.reattempt("full", rewind=True)


def listening(drive: gd.Drive) -> None:
    def hear(event: gd.TelemetryEvent | gd.StepProgressed | gd.StepYielded) -> None: ...

    drive.events.subscribe(hear, progress=True)
