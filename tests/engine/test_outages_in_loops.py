"""A loop waits while its database is away."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.testing import speedrun
from tests.batching import dividing, one_range, workers
from tests.engines import OWN_DIALECTS
from tests.looping import reasons


@pytest.mark.databases("postgresql", "mysql")
def test_a_loop_waits_for_a_database_that_is_away(geneva: gd.Drive) -> None:
    refused: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(5)):
                if number == 2:
                    _go_away(geneva, refused)

    workflow = speedrun(Import.create())

    [execution] = workflow.step_executions
    assert (execution.state, execution.completed_iterations) == ("completed", 5)
    assert len(refused) >= 3


@pytest.mark.databases("postgresql", "mysql")
def test_a_yield_waits_for_a_database_that_is_away(geneva: gd.Drive) -> None:
    refused: list[int] = []

    def body(self: Any, batch: gd.Batch) -> Any:
        if batch.position == 2:
            _go_away(geneva, refused)
        end = batch.position + 1
        return end if end == batch.end else batch.checkpoint_yield(end, end)

    workflow = speedrun(dividing(one_range(4), body))

    assert workflow.result == {"process_001": 4}
    assert reasons(workers(workflow)[0])[:-1] == [("yield", n, n) for n in (1, 2, 3)]
    assert len(refused) >= 3


def _go_away(drive: gd.Drive, refused: list[int]) -> None:
    """Lose all connections, and refuse the next few."""
    driver: Any = drive.engine.dialect.dbapi
    answers = {"postgresql": ("connection refused",), "mysql": (2003, "Can't connect to server")}

    @event.listens_for(OWN_DIALECTS.get(drive.engine, drive.engine.dialect), "do_connect")
    def refuse(*_: Any) -> None:
        if len(refused) < 12:
            refused.append(1)
            raise driver.OperationalError(*answers[drive.engine.dialect.name])

    drive.store.database.close()
    drive.engine.dispose()
