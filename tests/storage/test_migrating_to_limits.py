"""The revision that brings limits is added to databases that are in use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from geneva_drive.testing import drain
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.rows import Rows
from tests.storage.schema import describe

NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
PRESENT = Revision("0003")


class Greeting(gd.Workflow[Any]):
    type_name = "test_migrating_to_limits.Greeting"

    @gd.step(limit=gd.Limit(concurrency=1))
    def greet(self) -> None: ...


def test_workflows_that_are_under_way_go_on_behind_the_migration(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, _ = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    with drive.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO geneva_drive_workflows "
                "(id, type, state, allow_multiple, next_step_name, created_at, updated_at) "
                "VALUES (1, :type, 'ready', FALSE, 'greet', :now, :now)"
            ),
            {"type": Greeting.type_name, "now": NOW.replace(tzinfo=None)},
        )
        connection.execute(
            text(
                "INSERT INTO geneva_drive_step_executions "
                "(id, workflow_id, type, signature, step_name, node_id, slot, attempt_number, "
                "state, queue, priority, claimable, recoveries, scheduled_for, created_at) "
                "VALUES (1, 1, :type, 's', 'greet', 'greet', 'chain', 1, "
                "'scheduled', 'default', 0, TRUE, 0, :now, :now)"
            ),
            {"type": Greeting.type_name, "now": NOW.replace(tzinfo=None)},
        )

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert drain(drive) == 1
    assert Greeting.using(drive).finished().ids() == [1]


@half_way(range(8))
def test_a_migration_to_limits_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:-1][:count])

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema


def test_no_statement_of_this_revision_was_left_out_above(
    database: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    _, this = PRESENT.statements_of(open_drive(empty_database_url))

    # SQLite adds the column and its constraint in one.
    assert len(this[:-1]) == {"sqlite": 6}.get(database, 7)
    assert f"'{PRESENT.name}'" in this[-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "completed"},
        {"state": "canceled"},
        {"wakes_at": NOW},
    ],
    ids=["one that is over", "a canceled one", "a sleeper"],
)
def test_only_what_lies_ahead_waits_for_a_limit(wrong: dict[str, Any], rows: Rows) -> None:
    parked = rows.due(claimable=False, limit_key="crm")

    with pytest.raises(DBAPIError, match="step_executions_limit_is_ahead"):
        rows.change(rows.tables.step_executions, parked, **wrong)

    assert rows.read(rows.tables.step_executions, parked)["state"] == "scheduled"
