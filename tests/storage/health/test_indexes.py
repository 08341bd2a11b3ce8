from __future__ import annotations

import pytest
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import Check, Finding
from tests.storage.conftest import OpenDrive
from tests.storage.health.findings import findings

DROP = {
    "sqlite": "DROP INDEX geneva_drive_step_executions_claim",
    "postgresql": "DROP INDEX geneva_drive_step_executions_claim",
    "mysql": "DROP INDEX geneva_drive_step_executions_claim ON geneva_drive_step_executions",
}
CREATE = {
    "sqlite": "CREATE INDEX geneva_drive_step_executions_claim ON geneva_drive_step_executions "
    "(type, priority DESC, id) WHERE claimable = 1",
    "postgresql": "CREATE INDEX geneva_drive_step_executions_claim ON "
    "geneva_drive_step_executions (type, priority DESC, id) WHERE claimable = true",
    "mysql": "CREATE INDEX geneva_drive_step_executions_claim ON geneva_drive_step_executions "
    "(claimable, type, priority DESC, id)",
}


def test_all_indexes_are_there_after_a_migration(geneva: gd.Drive) -> None:
    [check] = findings(geneva, "indexes")

    assert (check.finding, check.way_out) == (Finding.OK, None)


def test_a_missing_index_is_a_problem_that_its_statement_solves(
    database: str, migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    with drive.engine.begin() as connection:
        connection.execute(text(DROP[database]))

    missing = findings(drive, "indexes")
    with drive.engine.begin() as connection:
        connection.execute(text(CREATE[database]))
    mended = findings(drive, "indexes")

    assert missing == [
        Check(
            name="indexes",
            finding=Finding.PROBLEM,
            found="geneva_drive_step_executions_claim is missing on geneva_drive_step_executions.",
            way_out=f"Create it: {CREATE[database]};",
        )
    ]
    assert [check.finding for check in mended] == [Finding.OK]


@pytest.mark.databases("postgresql")
def test_a_missing_unique_constraint_is_a_problem(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    with drive.engine.begin() as connection:
        connection.execute(
            text(
                "ALTER TABLE geneva_drive_workflows "
                "DROP CONSTRAINT geneva_drive_workflows_idempotency_key"
            )
        )

    [check] = findings(drive, "indexes")

    assert (check.found, check.way_out) == (
        "geneva_drive_workflows_idempotency_key is missing on geneva_drive_workflows.",
        "Create it: ALTER TABLE geneva_drive_workflows ADD CONSTRAINT "
        "geneva_drive_workflows_idempotency_key UNIQUE (type, idempotency_key);",
    )


@pytest.mark.databases("postgresql")
def test_an_index_that_was_never_built_to_its_end_is_a_problem(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    name = "geneva_drive_step_executions_claim"
    with drive.engine.begin() as connection:
        connection.execute(
            text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = :name ::regclass"),
            {"name": name},
        )

    [check] = findings(drive, "indexes")

    assert (check.finding, check.found, check.way_out) == (
        Finding.PROBLEM,
        f"{name} on geneva_drive_step_executions is not valid: it is written and never read.",
        f"REINDEX INDEX CONCURRENTLY {name};",
    )
