"""A row of which nothing can be recorded stands in nobody's way."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.worker.claiming import claim_due
from geneva_drive.worker.identity import Identity


def test_recovery_goes_on_behind_a_row_that_cannot_be_recovered(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(3)]
    claim_due(geneva.environment, Identity(), 3)
    table = geneva.store.tables.workflows
    with geneva.engine.begin() as connection:
        # By hand, as no code of ours would: its execution is still in progress.
        connection.execute(table.update().where(table.c.id == tasks[0].id).values(state="canceled"))

    geneva.housekeep()

    states = [[e.state for e in task.step_executions] for task in tasks]
    assert states == [["in_progress"], ["failed", "scheduled"], ["failed", "scheduled"]]
