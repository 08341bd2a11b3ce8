"""The revision that brings approvals is added to databases that are in use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from geneva_drive.testing import drain
from tests.approving import Decision, asked
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
PRESENT = Revision("0009")


class Refund(gd.Workflow[Any]):
    type_name = "test_migrating_to_approvals.Refund"

    @gd.step
    def look_up(self) -> None: ...

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...


def test_workflows_that_are_under_way_go_on_behind_the_migration_and_may_wait(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, _ = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    values = {"type": Refund.type_name, "now": NOW.replace(tzinfo=None)}
    with drive.engine.begin() as connection:
        for statement in (
            "INSERT INTO geneva_drive_workflows "
            "(id, type, state, allow_multiple, has_graph, next_step_name, created_at, updated_at) "
            "VALUES (1, :type, 'ready', FALSE, FALSE, 'look_up', :now, :now)",
            "INSERT INTO geneva_drive_workflows "
            "(id, type, state, allow_multiple, has_graph, next_step_name, paused_at, created_at, "
            "updated_at) VALUES (2, :type, 'paused', FALSE, FALSE, 'look_up', :now, :now, :now)",
            "INSERT INTO geneva_drive_audit_entries (id, workflow_id, command, at) "
            "VALUES (1000, 2, 'pause', :now)",
            "INSERT INTO geneva_drive_step_executions "
            "(id, workflow_id, type, signature, step_name, node_id, slot, attempt_number, "
            "state, queue, priority, claimable, recoveries, scheduled_for, created_at) "
            "VALUES (1000, 1, :type, 's', 'look_up', 'look_up', 'chain', 1, "
            "'scheduled', 'default', 0, TRUE, 0, :now, :now)",
        ):
            wanted = {key: value for key, value in values.items() if f":{key}" in statement}
            connection.execute(text(statement), wanted)

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    drain(drive)
    assert Refund.using(drive).paused().ids() == [1, 2]
    assert [e.command for e in Refund.using(drive).find(2).audit_entries] == ["pause"]
    asked(drive).approve(by="ann")
    drain(drive)
    assert Refund.using(drive).finished().ids() == [1]


# Columns, indexes and tables are each added if they are missing: after these statements, one kind
# is there in part.
@half_way([1, 2, 5, 12])
def test_a_migration_to_approvals_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:-1][:count])

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema
