"""Batches, their workers and aggregates, and maps keep the types of their methods."""

from __future__ import annotations

from typing import Any, assert_type

from sqlalchemy.orm import Session

import geneva_drive as gd


class Tool(gd.Workflow[int]):
    @gd.step
    def call(self) -> None: ...


class ImportRows(gd.Workflow[int]):
    @gd.batch
    def pages(self) -> gd.Batches:
        return gd.Batches.none("empty")

    @pages.worker
    def read(self, batch: Any) -> str:
        return "read"

    @pages.aggregate
    async def collect(self, results: Any) -> int:
        return 3

    @gd.batch(
        checkpoint_interval=200,
        parallelism=4,
        failure_strategy="continue_on_failure",
        tolerate=gd.Tolerate(percent=1.5),
        after_step=pages,
        run_if=lambda self: self.hero > 3,
    )
    async def rows(self) -> gd.Batches:
        return gd.Batches.ranges([(0, 3), gd.BatchRange("a", "b"), {"start": 1, "end": 2}])

    @rows.worker(transaction=True, retry=gd.Retry(max=3), timeout=5)
    def process(self, batch: Any, session: Session) -> dict[str, int]:
        return {}

    @rows.aggregate(queue="slow")
    def summarize(self, results: Any) -> list[int]:
        return [1]

    @gd.map(summarize, parallelism=8, failure_strategy=gd.FailureStrategy.ISOLATE)
    def send(self, item: int) -> float:
        return 1.0

    @gd.map(lambda self: [self.hero], keep_result=False, also_depends_on=pages)
    async def asend(self, item: int) -> bool:
        return True

    call_tools = gd.map(
        "send",
        workflow=Tool,
        hero=lambda self, item: item,
        context=lambda self, item: {"tool": item},
        queue="tools",
    )

    @gd.step
    def report(self) -> None:
        assert_type(self.results_of(self.send), list[float | None])
        assert_type(self.results_of(ImportRows.send), list[float | None])
        assert_type(self.results_of(self.asend), list[bool | None])
        assert_type(self.results_of(ImportRows.call_tools), list[Any])
        assert_type(self.results_of("send"), list[Any])
        assert_type(self.result_of(self.summarize), list[int])
        assert_type(self.result_of(ImportRows.collect), int)


class CarefulImport(ImportRows):
    @ImportRows.pages.worker
    def read(self, batch: Any) -> str:
        return super().read(batch)


workflow = ImportRows()
assert_type(workflow.pages(), gd.Batches)
assert_type(ImportRows.pages(workflow), gd.Batches)
assert_type(workflow.read(None), str)
assert_type(workflow.process(None, Session()), dict[str, int])
assert_type(workflow.send(7), float)

batches = gd.Batches.split(total=10, batch_size=2, max_batches=3)
assert_type(batches, gd.Batches)
assert_type(batches.parts, tuple[gd.BatchRange, ...])
assert_type(batches.reason, str | None)
assert_type(gd.Batches.csv("rows.csv", batch_size=5, delimiter=";"), gd.Batches)


async def awaiting() -> None:
    assert_type(await workflow.rows(), gd.Batches)
    assert_type(await workflow.collect(None), int)
    assert_type(await workflow.asend(7), bool)
