"""The revision that brings resumable steps is added to databases that are in use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from geneva_drive.testing import drain
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
PRESENT = Revision("0004")


class Import(gd.Workflow[Any]):
    type_name = "test_migrating_to_iterations.Import"

    @gd.resumable_step
    def rows(self, it: gd.IterableStep) -> None:
        for _ in it.iterate_over("abc"):
            pass


def test_a_step_that_is_under_way_may_be_resumable_behind_the_migration(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, _ = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    values = {"type": Import.type_name, "now": NOW.replace(tzinfo=None)}
    with drive.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO geneva_drive_workflows "
                "(id, type, state, allow_multiple, next_step_name, created_at, updated_at) "
                "VALUES (1, :type, 'ready', FALSE, 'rows', :now, :now)"
            ),
            values,
        )
        connection.execute(
            text(
                "INSERT INTO geneva_drive_step_executions "
                "(id, workflow_id, type, signature, step_name, node_id, slot, attempt_number, "
                "state, queue, priority, claimable, recoveries, scheduled_for, created_at) "
                "VALUES (1, 1, :type, 's', 'rows', 'rows', 'chain', 1, "
                "'scheduled', 'default', 0, TRUE, 0, :now, :now)"
            ),
            values,
        )

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert drain(drive) == 1
    [execution] = Import.using(drive).find(1).step_executions
    assert (execution.state, execution.completed_iterations) == ("completed", 3)


@half_way(range(9))
def test_a_migration_to_iterations_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:-1][:count])

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema


def test_no_statement_of_this_revision_was_left_out_above(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    _, this = PRESENT.statements_of(open_drive(empty_database_url))

    assert len(this[:-1]) == 8
    assert f"'{PRESENT.name}'" in this[-1]
