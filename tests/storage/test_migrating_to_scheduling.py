"""The revision that keeps what jobs say of their nodes is added to databases that are in use."""

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
PRESENT = Revision("0006")


@gd.job(queue="mail")
def greet() -> None: ...


def test_a_graph_that_is_under_way_goes_on_behind_the_migration(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, _ = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    values = {"job": greet.name, "now": NOW.replace(tzinfo=None)}
    with drive.engine.begin() as connection:
        for statement in (
            "INSERT INTO geneva_drive_workflows "
            "(id, type, state, allow_multiple, has_graph, created_at, updated_at) "
            "VALUES (1, '', 'ready', TRUE, TRUE, :now, :now)",
            "INSERT INTO geneva_drive_graphs "
            "(workflow_id, signature, frozen_at, total, remaining) VALUES (1, 's', :now, 2, 2)",
            "INSERT INTO geneva_drive_graph_nodes "
            "(workflow_id, node_id, position, name, job, dependency_count, args, depends_on, "
            "dependants) VALUES (1, 'n_a', 0, 'first', :job, 0, '{}', '[]', '[\"n_b\"]')",
            "INSERT INTO geneva_drive_graph_nodes "
            "(workflow_id, node_id, position, name, job, dependency_count, args, depends_on, "
            "dependants) VALUES (1, 'n_b', 1, 'second', :job, 1, '{}', '[\"n_a\"]', '[]')",
            "INSERT INTO geneva_drive_step_executions "
            "(id, workflow_id, type, signature, step_name, node_id, slot, attempt_number, "
            "state, queue, priority, claimable, recoveries, scheduled_for, created_at) "
            "VALUES (1000, 1, '', 's', 'first', 'n_a', 'n_a', 1, "
            "'scheduled', 'default', 0, TRUE, 0, :now, :now)",
        ):
            wanted = {key: value for key, value in values.items() if f":{key}" in statement}
            connection.execute(text(statement), wanted)

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert drain(drive) == 2
    workflow = gd.Workflow.using(drive).find(1)
    assert workflow.state == "finished"
    queues = {one.step_name: one.queue for one in workflow.step_executions}
    assert queues == {"first": "default", "second": "mail"}


@half_way(range(2))
def test_a_migration_to_scheduling_that_died_half_way_is_done_again(
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

    assert len(this[:-1]) == 1
    assert f"'{PRESENT.name}'" in this[-1]
