"""Migrations create the tables once, whoever runs them and however often."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, MetaData, insert, inspect, select, text

import geneva_drive as gd
from geneva_drive.storage import migrator
from geneva_drive.storage.dialects.claim_request import ClaimRequest
from geneva_drive.storage.dialects.sqlite import dialect
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.revisions import HEAD, REVISIONS
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.testing import speedrun
from tests.storage.conftest import OpenDrive, prepare
from tests.storage.revising import Revision, create_tables, half_way, printed_statements, run
from tests.storage.rows import NOW, Rows
from tests.storage.schema import describe

TABLES = [
    "geneva_drive_activity",
    "geneva_drive_activity_marks",
    "geneva_drive_api_keys",
    "geneva_drive_approval_links",
    "geneva_drive_approval_people",
    "geneva_drive_approvals",
    "geneva_drive_audit_entries",
    "geneva_drive_callbacks",
    "geneva_drive_checkpoints",
    "geneva_drive_dead_letters",
    "geneva_drive_definitions",
    "geneva_drive_event_listeners",
    "geneva_drive_event_receipts",
    "geneva_drive_event_starts",
    "geneva_drive_event_waits",
    "geneva_drive_events",
    "geneva_drive_expansions",
    "geneva_drive_graph_joins",
    "geneva_drive_graph_nodes",
    "geneva_drive_graphs",
    "geneva_drive_limit_slots",
    "geneva_drive_limits",
    "geneva_drive_resume_requests",
    "geneva_drive_roles",
    "geneva_drive_schedule_runs",
    "geneva_drive_schedules",
    "geneva_drive_schema_version",
    "geneva_drive_step_executions",
    "geneva_drive_workers",
    "geneva_drive_workflows",
]
SECOND = Revision("0002")
KEY_TYPES = pytest.mark.parametrize("key_type", [KeyType.BIGINT, KeyType.UUID])


def run_script(engine: Engine, script: str) -> None:
    """Run SQL as a person would, statement by statement."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in script.split(";"):
            if statement.strip():
                connection.exec_driver_sql(statement)


def set_revision(drive: gd.Drive, revision: str) -> None:
    with drive.engine.begin() as connection:
        connection.execute(
            text("UPDATE geneva_drive_schema_version SET version_num = :r"), {"r": revision}
        )


def test_an_empty_database_gets_the_tables(empty_database_url: str, open_drive: OpenDrive) -> None:
    drive = open_drive(empty_database_url)

    assert drive.migrate() == (None, HEAD)

    assert sorted(inspect(drive.engine).get_table_names()) == TABLES


def test_migrating_again_changes_nothing(migrated_database_url: str, open_drive: OpenDrive) -> None:
    drive = open_drive(migrated_database_url)
    before = describe(drive.engine)

    assert drive.migrate() == (HEAD, HEAD)

    assert describe(drive.engine) == before
    assert drive.migration_sql() == ""


@KEY_TYPES
def test_migrated_tables_equal_those_of_the_code(
    key_type: KeyType,
    empty_database_url: str,
    another_database_url: str,
    open_drive: OpenDrive,
    open_engine: Callable[..., Engine],
) -> None:
    drive, fresh = open_drive(empty_database_url), open_engine(another_database_url)
    prepare(drive.engine, key_type)
    prepare(fresh, key_type)

    drive.migrate()
    tables = Tables(
        prefix="geneva_drive_",
        key_type=key_type,
        has_partial_indexes=drive.engine.dialect.name != "mysql",
    )
    tables.metadata.create_all(fresh)

    assert drive.store.key_type is key_type
    with drive.engine.begin() as connection:
        connection.execute(text("DROP TABLE geneva_drive_schema_version"))
    assert describe(drive.engine) == describe(fresh)


@KEY_TYPES
def test_the_printed_migration_makes_the_same_tables(
    key_type: KeyType,
    empty_database_url: str,
    database: str,
    open_drive: OpenDrive,
    schemas: Callable[[str, KeyType | None], dict[str, Any]],
) -> None:
    drive = open_drive(empty_database_url)
    prepare(drive.engine, key_type)

    run_script(drive.engine, drive.migration_sql())

    assert describe(drive.engine) == schemas(database, key_type)
    assert drive.migrate() == (HEAD, HEAD)


def test_printing_the_migration_does_nothing(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)

    drive.migration_sql()

    assert inspect(drive.engine).get_table_names() == []


def test_the_printed_migration_is_one_transaction_where_the_database_can(
    database: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    script = open_drive(empty_database_url).migration_sql().strip()

    is_one = (script.startswith("BEGIN;"), script.endswith("COMMIT;"))

    assert (
        is_one
        == {
            "sqlite": (True, True),
            "postgresql": (True, True),
            "mysql": (False, False),
        }[database]
    )


def test_of_two_threads_that_migrate_at_once_one_does_and_both_succeed(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    start = threading.Barrier(2, timeout=30)
    drives = [open_drive(empty_database_url), open_drive(empty_database_url)]

    def migrate(drive: gd.Drive) -> tuple[str | None, str]:
        start.wait()
        return drive.migrate()

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(migrate, drives))

    assert sorted(results, key=str) == [(HEAD, HEAD), (None, HEAD)]
    assert sorted(inspect(drives[0].engine).get_table_names()) == TABLES


def test_two_databases_are_migrated_at_once_by_two_threads(
    empty_database_url: str, another_database_url: str, open_drive: OpenDrive
) -> None:
    start = threading.Barrier(2, timeout=30)
    drives = [open_drive(empty_database_url), open_drive(another_database_url)]

    def migrate(drive: gd.Drive) -> tuple[str | None, str]:
        start.wait()
        return drive.migrate()

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(migrate, drives))

    assert results == [(None, HEAD), (None, HEAD)]
    assert describe(drives[0].engine) == describe(drives[1].engine)


def test_of_two_processes_that_migrate_at_once_one_does_and_both_succeed(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    program = (
        "import sys, geneva_drive as gd\n"
        "drive = gd.Drive(sys.argv[1])\n"
        "sys.stdin.readline()\n"
        "print(drive.migrate())\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, empty_database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in processes]

    assert sorted(answers) == [(f"({HEAD!r}, {HEAD!r})\n", ""), (f"(None, {HEAD!r})\n", "")]
    assert sorted(inspect(open_drive(empty_database_url).engine).get_table_names()) == TABLES


@pytest.mark.databases("postgresql", "mysql")
def test_a_migration_that_waits_too_long_for_another_says_so(
    database: str,
    empty_database_url: str,
    open_drive: OpenDrive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(migrator, "LOCK_TIMEOUT", timedelta(seconds=1))
    drive, other = open_drive(empty_database_url), open_drive(empty_database_url)
    lock = {
        "postgresql": "SELECT pg_advisory_xact_lock(7046029254386353)",
        "mysql": "SELECT GET_LOCK(CONCAT('geneva_drive_', SHA1(DATABASE())), 0)",
    }[database]

    with other.engine.connect() as holder:
        holder.execute(text(lock))
        with pytest.raises(migrator.MigrationLocked) as refusal:
            drive.migrate()

    assert str(refusal.value) == (
        f"Another process has been migrating {drive.database_url} for more than 1 seconds. "
        f"Wait for it, or end it, and run `geneva migrate` again."
    )
    other.engine.dispose()
    assert drive.migrate() == (None, HEAD)


@pytest.mark.databases("sqlite")
def test_a_migration_of_a_busy_sqlite_file_says_so(
    empty_database_url: str,
    open_drive: OpenDrive,
    open_engine: Callable[..., Engine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialect, "BUSY_TIMEOUT", timedelta(milliseconds=1))
    drive = open_drive(empty_database_url)

    with open_engine(empty_database_url).connect() as holder:
        holder.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(gd.errors.DatabaseBusy) as refusal:
            drive.migrate()

    assert str(refusal.value) == (
        f"The database at {empty_database_url} was busy for too long, and nothing was "
        f"written: database is locked. Look for a long transaction, and try again. If it "
        "is a session of your own, commit it first, or pass it as session=."
    )


def test_a_database_without_tables_is_not_migrated(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)

    with pytest.raises(gd.errors.NotMigrated) as refusal:
        gd.Workflow.using(drive).query().count()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} has no GenevaDrive tables yet, or older ones. "
        f"Run `geneva migrate` with the same --app or --database, or call drive.migrate()."
    )


def test_a_database_of_an_older_revision_is_not_migrated(
    migrated_database_url: str, open_drive: OpenDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = open_drive(migrated_database_url)
    monkeypatch.setattr("geneva_drive.storage.schema.revisions.REVISIONS", (*REVISIONS, "9998"))
    monkeypatch.setattr("geneva_drive.storage.schema.revisions.HEAD", "9998")

    with pytest.raises(gd.errors.NotMigrated) as refusal:
        gd.Workflow.using(drive).query().count()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} has no GenevaDrive tables yet, or older ones. "
        f"Run `geneva migrate` with the same --app or --database, or call drive.migrate()."
    )


def test_a_database_of_a_newer_library_is_left_alone(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    set_revision(drive, "9999")
    message = (
        f"The database at {drive.database_url} was migrated by a newer GenevaDrive "
        f"(revision '9999'). Upgrade this process's geneva-drive before it touches the data."
    )

    with pytest.raises(gd.errors.TooNew) as on_use:
        gd.Workflow.using(drive).query().count()
    with pytest.raises(gd.errors.TooNew) as on_migration:
        drive.migrate()

    assert (str(on_use.value), str(on_migration.value)) == (message, message)
    assert sorted(inspect(drive.engine).get_table_names()) == TABLES


@pytest.mark.parametrize("prefix", ["jobs_", "MixedCase_", "a_prefix_of_thirty_characters_"])
def test_tables_live_under_a_prefix_of_ones_own(
    prefix: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    drive = open_drive(empty_database_url, table_prefix=prefix)
    drive.migrate()

    workflow = speedrun(Greeting.using(drive).create())

    assert workflow.state == "finished"
    assert sorted(inspect(drive.engine).get_table_names()) == [
        f"{prefix}activity",
        f"{prefix}activity_marks",
        f"{prefix}api_keys",
        f"{prefix}approval_links",
        f"{prefix}approval_people",
        f"{prefix}approvals",
        f"{prefix}audit_entries",
        f"{prefix}callbacks",
        f"{prefix}checkpoints",
        f"{prefix}dead_letters",
        f"{prefix}definitions",
        f"{prefix}event_listeners",
        f"{prefix}event_receipts",
        f"{prefix}event_starts",
        f"{prefix}event_waits",
        f"{prefix}events",
        f"{prefix}expansions",
        f"{prefix}graph_joins",
        f"{prefix}graph_nodes",
        f"{prefix}graphs",
        f"{prefix}limit_slots",
        f"{prefix}limits",
        f"{prefix}resume_requests",
        f"{prefix}roles",
        f"{prefix}schedule_runs",
        f"{prefix}schedules",
        f"{prefix}schema_version",
        f"{prefix}step_executions",
        f"{prefix}workers",
        f"{prefix}workflows",
    ]


def test_two_drives_share_a_database_under_two_prefixes(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    ours = open_drive(migrated_database_url)
    theirs = open_drive(migrated_database_url, table_prefix="theirs_")
    theirs.migrate()

    Greeting.using(ours).create()

    assert (Greeting.using(ours).ready().count(), Greeting.using(theirs).ready().count()) == (1, 0)


def half_migrate(drive: gd.Drive, count: int) -> None:
    """Leave what a migration leaves whose process died after `count` statements."""
    run(drive.engine, printed_statements(drive)[:count])


@half_way([1, 2, 7, 12])
def test_a_migration_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    half_migrate(drive, count)

    assert drive.migrate() == (None, HEAD)

    assert describe(drive.engine) == whole_schema


def migrate_to_the_first(drive: gd.Drive, key_type: KeyType = KeyType.BIGINT) -> list[str]:
    """Make the tables of revision 0001; give the statements that would bring them to 0002."""
    first, second = SECOND.statements_of(drive, key_type)
    create_tables(drive.engine, first)
    return second


def read_all(engine: Engine, known: MetaData) -> dict[str, list[Any]]:
    """Read every row, as far as these tables and columns go; but for the revision's own."""
    with engine.connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in known.sorted_tables
            if not table.name.endswith("schema_version")
        }


@KEY_TYPES
def test_a_database_of_the_first_revision_is_upgraded_with_its_rows(
    key_type: KeyType,
    empty_database_url: str,
    database: str,
    open_drive: OpenDrive,
    schemas: Callable[[str, KeyType | None], dict[str, Any]],
) -> None:
    drive = open_drive(empty_database_url)
    prepare(drive.engine, key_type)
    migrate_to_the_first(drive, key_type)
    tables = Tables(
        prefix="geneva_drive_", key_type=key_type, has_partial_indexes=database != "mysql"
    )
    rows = Rows(drive.engine, tables)
    due = [rows.due(priority=priority) for priority in (0, 5, 0)]
    rows.due(claimable=False, wakes_at=NOW)
    old = MetaData()
    old.reflect(drive.engine)
    before = read_all(drive.engine, old)

    assert drive.migrate() == ("0001", HEAD)

    assert read_all(drive.engine, old) == before
    assert describe(drive.engine) == schemas(database, key_type)
    assert drive.store.key_type is key_type
    wish = ClaimRequest(
        worker_id="w", claim_token="t", types=["Signup"], queues={"default": 9}, limit=9, now=NOW
    )
    taken = drive.store.write_at_once(
        lambda c: drive.store.database.dialect.claim(c, drive.store.tables, wish)
    )
    assert [execution.id for execution, _ in taken] == [due[1], due[0], due[2]]


@half_way([1, 3, 4, 9])
def test_an_upgrade_that_died_half_way_is_done_again(
    count: int, empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    statements = migrate_to_the_first(drive)
    run(drive.engine, statements[:count])

    assert drive.migrate() == ("0001", HEAD)

    assert describe(drive.engine) == whole_schema


def test_tables_with_rows_but_without_a_revision_are_not_dropped(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    store = drive.store
    register = insert(store.tables.workers).values(
        id="w1", name="w1", signatures="{}", started_at=drive.clock.now(),
        heartbeat_at=drive.clock.now(),
    )  # fmt: skip
    with drive.engine.begin() as connection:
        connection.execute(register)
        connection.execute(text("DELETE FROM geneva_drive_schema_version"))

    with pytest.raises(gd.errors.StorageError) as refusal:
        drive.migrate()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} has rows in 'geneva_drive_workers', but "
        f"'geneva_drive_schema_version' has no revision. Restore its row from a backup, or drop "
        f"GenevaDrive's tables if you do not need the rows, and run `geneva migrate` again."
    )
    assert sorted(inspect(drive.engine).get_table_names()) == TABLES


def test_a_users_table_of_the_same_name_is_not_touched(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url, table_prefix="shop_")
    with drive.engine.begin() as connection:
        connection.execute(text("CREATE TABLE shop_workers (id INTEGER PRIMARY KEY)"))

    with pytest.raises(gd.errors.StorageError) as refusal:
        drive.migrate()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} has a table 'shop_workers' that GenevaDrive did "
        f"not make. Choose another table_prefix, or rename that table."
    )
    assert inspect(drive.engine).get_table_names() == ["shop_workers"]
