"""An interrupt of the process is no failure of the step."""

from __future__ import annotations

import asyncio
import sys

import pytest

import geneva_drive as gd
from tests.worker.conftest import MakeDrive
from tests.worker.watching import rows_of


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_execution_is_given_back(
    geneva: gd.Drive, interrupt: type[BaseException]
) -> None:
    class Task(gd.Workflow):
        on_exception = "cancel"

        @gd.step
        def work(self) -> None:
            if self.attempt == 1:
                raise interrupt

    task = Task.create()

    geneva.worker().run_until_idle()

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "completed", "success")]
    assert task.step_executions[0].error_message == (
        f"The execution was released: {interrupt.__name__} in its worker."
    )


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_async_body_is_given_back_and_the_loop_goes_on(
    geneva: gd.Drive, interrupt: type[BaseException]
) -> None:
    class Task(gd.Workflow):
        @gd.step
        async def work(self) -> None:
            if self.attempt == 1:
                raise interrupt

    task = Task.create()

    geneva.worker().run_until_idle()

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "completed", "success")]


def test_a_task_of_an_async_body_that_exits_leaves_the_loop_to_others(geneva: gd.Drive) -> None:
    async def exit_from_the_task() -> None:
        sys.exit("no config")

    class Task(gd.Workflow):
        @gd.step
        async def work(self) -> None:
            if self.attempt == 1:
                await asyncio.create_task(exit_from_the_task())

        @gd.step
        async def rest(self) -> None: ...

    task = Task.create()

    geneva.worker().run_until_idle()

    assert rows_of(task) == [
        ("work", "failed", "recovered"),
        ("work", "completed", "success"),
        ("rest", "completed", "success"),
    ]


def test_a_body_that_always_exits_ends_in_a_dead_letter(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(max_recoveries=1)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            raise SystemExit("no config")

    task = Task.create()

    drive.worker().run_until_idle()

    assert rows_of(task) == [("work", "failed", "recovered")] * 2
    assert task.reload().state == "paused"
    assert task.paused_reason == (
        "The execution was released: SystemExit (no config) in its worker. (for the 2nd time)"
    )
    with drive.store.reading() as connection:
        reasons = drive.store.dead_letters.pending_reasons(connection, [task.id])
    assert reasons == {task.id: "worker_unavailable"}
