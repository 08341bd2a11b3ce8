from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, make_url, text

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import Check, ok, problem, reminder
from tests.conftest import RUN
from tests.scenarios.processes import wait_until
from tests.servers import with_query
from tests.storage.conftest import OpenDrive
from tests.storage.health.findings import findings

pytestmark = pytest.mark.databases("postgresql")

_HELD = "Rows that are deleted or changed meanwhile cannot be cleaned up."
_PILE_UP = "dead rows pile up, and every claim has to read past them."


def _of_process(checks: list[Check], number: int) -> Check:
    """Give the check about one process, with its age made anonymous."""
    [check] = [check for check in checks if check.found.startswith(f"Process {number} ")]
    return replace(check, found=re.sub(r"open for \w+( ms)?,", "open for X,", check.found))


def _process_id(connection: Connection) -> int:
    number: int = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return number


def test_an_old_transaction_that_does_nothing_is_a_problem_and_a_running_one_a_reminder(
    geneva: gd.Drive,
) -> None:
    with (
        ThreadPoolExecutor() as pool,
        geneva.engine.connect() as idle,
        geneva.engine.connect() as busy,
    ):
        busy.execute(text("SET LOCAL application_name = 'report'"))
        numbers = _process_id(idle), _process_id(busy)
        idle.execute(text("SELECT pg_advisory_xact_lock(77)"))
        running = pool.submit(busy.execute, text("SELECT pg_advisory_xact_lock(77)"))
        wait_until(lambda: _is_active(geneva, numbers[1]), "the statement")

        checks = findings(geneva, "old snapshots", old_transaction=timedelta())
        idle.rollback()
        running.result(60)

    assert _of_process(checks, numbers[0]) == problem(
        "old snapshots",
        f"Process {numbers[0]} (postgres) has a transaction open for X, idle in transaction. "
        f"{_HELD}",
        f"End it in its program, or: SELECT pg_terminate_backend({numbers[0]}); The setting "
        f"idle_in_transaction_session_timeout does so.",
    )
    assert _of_process(checks, numbers[1]) == reminder(
        "old snapshots",
        f"Process {numbers[1]} (postgres, report) has a transaction open for X, active. {_HELD}",
        f"End it in its program, or: SELECT pg_terminate_backend({numbers[1]});",
    )


def _is_active(drive: gd.Drive, number: int) -> bool:
    query = text("SELECT state = 'active' FROM pg_stat_activity WHERE pid = :pid")
    with drive.engine.connect() as connection:
        return bool(connection.scalar(query, {"pid": number}))


def test_young_transactions_are_no_matter(geneva: gd.Drive) -> None:
    with geneva.engine.connect() as connection:
        _process_id(connection)

        checks = findings(geneva, "old snapshots")

    assert checks == [ok("old snapshots", "No transaction is older than 5m.")]


# A server keeps no prepared transactions unless it is told to, and a slot's snapshot needs a
# standby. So views of the same names and columns stand before the server's own.
_VIEWS = (
    "CREATE VIEW standing.pg_prepared_xacts AS SELECT 'two-phase'::text AS gid, "
    "clock_timestamp() - interval '10 minutes' AS prepared, current_database() AS database",
    "CREATE VIEW standing.pg_replication_slots AS SELECT name AS slot_name, snapshot AS xmin, "
    "in_use AS active FROM (VALUES ('gone'::name, '700'::xid, false), "
    "('used', '700', true), ('empty', NULL, false)) AS slots (name, snapshot, in_use)",
)


def test_prepared_transactions_and_slots_that_nobody_uses_are_problems(
    geneva: gd.Drive, geneva_database_url: str, open_drive: OpenDrive
) -> None:
    with geneva.engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA standing"))
        for view in _VIEWS:
            connection.execute(text(view))
    url = with_query(geneva_database_url, options="-csearch_path=standing,public,pg_catalog")

    checks = findings(open_drive(url), "old snapshots")
    with geneva.engine.begin() as connection:
        connection.execute(text("DROP SCHEMA standing CASCADE"))

    assert checks == [
        problem(
            "old snapshots",
            f"Transaction 'two-phase' was prepared 10m ago and not ended. {_HELD}",
            "COMMIT PREPARED 'two-phase'; or ROLLBACK PREPARED 'two-phase';",
        ),
        problem(
            "old snapshots",
            f"The replication slot 'gone' is inactive and keeps a snapshot. {_HELD}",
            "Start its standby again, or: SELECT pg_drop_replication_slot('gone');",
        ),
    ]


def test_dead_rows_that_outnumber_the_living_are_a_reminder(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    few = findings(drive, "dead rows", dead_rows=5)
    # On one connection: each reports its counts by itself, and the order would matter.
    with drive.engine.connect() as connection:
        connection.execute(
            text(
                "INSERT INTO geneva_drive_workers (id, name, signatures, started_at, heartbeat_at) "
                "SELECT n, 'x', '{}', now(), now() FROM generate_series(1, 5) AS n"
            )
        )
        connection.commit()
        connection.execute(text("DELETE FROM geneva_drive_workers"))
        connection.commit()

    # The server counts a little later.
    wait_until(
        lambda: findings(drive, "dead rows", dead_rows=5) != few, "the server's count of dead rows"
    )

    assert few == [
        ok("dead rows", "No table has 5 or more dead rows that outnumber the live ones.")
    ]
    assert findings(drive, "dead rows", dead_rows=5) == [
        reminder(
            "dead rows",
            "geneva_drive_workers has 5 dead rows and 0 live ones.",
            "VACUUM (ANALYZE) geneva_drive_workers; if they stay, see old snapshots and autovacuum "
            "here.",
        )
    ]


def test_a_table_that_is_not_vacuumed_is_a_reminder(
    migrated_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(migrated_database_url)
    of_server = findings(drive, "autovacuum")
    with drive.engine.begin() as connection:
        connection.execute(
            text("ALTER TABLE geneva_drive_workflows SET (autovacuum_enabled = false)")
        )

    checks = findings(drive, "autovacuum")

    assert [check for check in checks if check not in of_server] == [
        reminder(
            "autovacuum",
            f"It is off for geneva_drive_workflows: {_PILE_UP}",
            "ALTER TABLE geneva_drive_workflows RESET (autovacuum_enabled);",
        )
    ]


def test_whether_the_server_vacuums_by_itself_is_told(geneva: gd.Drive) -> None:
    with geneva.engine.connect() as connection:
        setting = connection.execute(text("SHOW autovacuum")).scalar_one()
    expected = {
        "on": ok("autovacuum", "It is on."),
        "off": reminder(
            "autovacuum",
            f"It is off on the server: {_PILE_UP}",
            "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
        ),
    }

    assert findings(geneva, "autovacuum") == [expected[setting]]


def test_a_commit_that_is_flushed_is_durable(
    geneva: gd.Drive, geneva_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(with_query(geneva_database_url, options="-csynchronous_commit=on"))

    assert findings(drive, "durability") == [ok("durability", "synchronous_commit is 'on'.")]


def test_a_commit_that_is_not_flushed_is_a_problem(
    geneva: gd.Drive, geneva_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(with_query(geneva_database_url, options="-csynchronous_commit=off"))

    assert findings(drive, "durability") == [
        problem(
            "durability",
            "synchronous_commit is 'off': the last commits may be lost if the server crashes.",
            "SET synchronous_commit = on for this database, user or server, wherever it was "
            "turned off.",
        )
    ]


@pytest.fixture
def stranger(geneva: gd.Drive, geneva_database_url: str, worker_id: str) -> Iterator[str]:
    """The URL for a user who may read our tables and nothing else."""
    name = f"geneva_stranger_{os.environ[RUN]}_{worker_id}"
    with geneva.engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {name} LOGIN"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {name}"))
        connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}"))
    yield make_url(geneva_database_url).set(username=name).render_as_string(hide_password=False)
    with geneva.engine.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {name}"))
        connection.execute(text(f"DROP ROLE {name}"))


def test_sessions_that_a_user_may_not_look_at_are_a_reminder(
    geneva: gd.Drive, stranger: str, open_drive: OpenDrive
) -> None:
    with geneva.engine.connect() as connection:
        others = text(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND usename = current_user"
        )
        count: int = connection.execute(others).scalar_one()

        checks = findings(open_drive(stranger), "old snapshots")

    words = {1: "1 session"}.get(count, f"{count} sessions")
    assert checks == [
        reminder(
            "old snapshots",
            f"{words} of other users cannot be seen.",
            "GRANT pg_read_all_stats TO the user of this connection.",
        )
    ]


def test_a_role_without_rights_is_told_which_it_lacks(
    geneva: gd.Drive, stranger: str, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    drive = open_drive(stranger)
    [found] = findings(drive, "rights")
    with pytest.raises(gd.errors.MissingRights, match="permission denied for table") as refusal:
        Greeting.using(drive).create()

    assert found.found.startswith("The role lacks INSERT on geneva_drive_")
    assert "SELECT" not in found.found
    assert found.found.count(" on ") == 3 * len(geneva.store.tables.metadata.tables)
    assert str(refusal.value).endswith("`geneva doctor` shows which right is missing.")
    assert Greeting.using(drive).query().count() == 0
