"""The revision that keeps who started a workflow is added to databases that are in use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

PRESENT = Revision("0008")


def test_a_workflow_from_before_the_migration_was_started_by_none(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, _ = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    with drive.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO geneva_drive_workflows "
                "(id, type, state, allow_multiple, has_graph, created_at, updated_at) "
                "VALUES (1, 'Gone', 'ready', TRUE, FALSE, :now, :now)"
            ),
            {"now": datetime(2025, 1, 2, tzinfo=UTC).replace(tzinfo=None)},
        )

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert gd.Workflow.using(drive).find(1).started_by is None


@half_way(range(2))
def test_a_migration_to_starters_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    assert len(this) == 2  # the column, and the version
    run(drive.engine, this[:count])

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema
