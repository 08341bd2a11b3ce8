"""The revision with acts without a workflow is added to databases that are in use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from geneva_drive.storage.schema import revisions
from geneva_drive.storage.schema.records import AuditRecord
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables, half_way, run
from tests.storage.schema import describe

PRESENT = Revision("0017")
AT = datetime(2026, 3, 2, 8, tzinfo=UTC)


def test_a_migration_to_acts_keeps_the_entries_of_workflows(
    empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    create_tables(drive.engine, PRESENT.statements_of(drive)[0])
    with drive.engine.begin() as connection:
        for statement in (
            "INSERT INTO geneva_drive_workflows "
            "(id, type, state, allow_multiple, has_graph, created_at, updated_at) "
            "VALUES (1, 'Delivery', 'finished', FALSE, FALSE, :at, :at)",
            "INSERT INTO geneva_drive_audit_entries (id, workflow_id, command, actor, reason, at) "
            "VALUES (7, 1, 'pause', 'ann', 'strike', :at)",
        ):
            connection.execute(text(statement), {"at": AT.replace(tzinfo=None)})

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema
    entries = drive.store.read(lambda c: drive.store.audit_entries.of_workflow(c, 1))
    assert entries == [AuditRecord(command="pause", actor="ann", reason="strike", at=AT)]


@half_way([1, 3, 4, 5])
def test_a_migration_to_acts_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    former, this = PRESENT.statements_of(drive)
    create_tables(drive.engine, former)
    run(drive.engine, this[:-1][:count])  # the last one says that it is done

    assert drive.migrate() == (PRESENT.former, revisions.HEAD)

    assert describe(drive.engine) == whole_schema
