"""Health checks for PostgreSQL: isolation, durability, autovacuum, dead rows, old snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, text

from geneva_drive.durations import describe
from geneva_drive.storage.dialects.health_check import (
    Check,
    Look,
    Thresholds,
    isolation,
    ok,
    problem,
    reminder,
)
from geneva_drive.storage.schema.tables import Tables

_SNAPSHOTS = "old snapshots"
_HELD = "Rows that are deleted or changed meanwhile cannot be cleaned up."
_PILE_UP = "dead rows pile up, and every claim has to read past them."

_AUTOVACUUM = text("""
    SELECT quote_ident(relname) FROM pg_class
    WHERE oid = ANY(CAST(CAST(:names AS text[]) AS regclass[]))
      AND reloptions && ARRAY['autovacuum_enabled=false', 'autovacuum_enabled=off']
    ORDER BY relname
""")
_DEAD_ROWS = text("""
    SELECT quote_ident(relname) AS name, n_dead_tup AS dead, n_live_tup AS live
    FROM pg_stat_user_tables
    WHERE relid = ANY(CAST(CAST(:names AS text[]) AS regclass[]))
      AND n_dead_tup >= :dead AND n_dead_tup > n_live_tup
    ORDER BY relname
""")
_OLD_TRANSACTIONS = text("""
    SELECT pid, usename, application_name, state,
           extract(epoch FROM clock_timestamp() - xact_start) AS age
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND backend_type = 'client backend'
      AND xact_start <= clock_timestamp() - make_interval(secs => :age)
    ORDER BY xact_start, pid
""")
_HIDDEN = text("""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = '<insufficient privilege>'
""")
_PREPARED = text("""
    SELECT quote_literal(gid) AS gid, extract(epoch FROM clock_timestamp() - prepared) AS age
    FROM pg_prepared_xacts
    WHERE database = current_database()
      AND prepared <= clock_timestamp() - make_interval(secs => :age)
    ORDER BY prepared
""")
_SLOTS = text("""
    SELECT slot_name FROM pg_replication_slots
    WHERE xmin IS NOT NULL AND NOT active
    ORDER BY slot_name
""")


_INVALID_INDEXES = text("""
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND pg_table_is_visible(i.indrelid)
""")


def looks(tables: Tables, thresholds: Thresholds) -> Iterator[tuple[str, Look]]:
    yield "isolation", isolation
    yield "durability", durability
    yield "autovacuum", lambda c: autovacuum(c, tables)
    yield "dead rows", lambda c: dead_rows(c, tables, thresholds)
    yield "old snapshots", lambda c: old_snapshots(c, thresholds)


def invalid_indexes(connection: Connection) -> set[str]:
    """Return indexes whose build was aborted, such as by a deadlock or a cancel."""
    return set(connection.scalars(_INVALID_INDEXES))


def durability(connection: Connection) -> Iterator[Check]:
    value = connection.scalar(text("SHOW synchronous_commit"))
    if value != "off":
        yield ok("durability", f"synchronous_commit is {value!r}.")
        return
    yield problem(
        "durability",
        "synchronous_commit is 'off': the last commits may be lost if the server crashes.",
        "SET synchronous_commit = on for this database, user or server, wherever it was turned "
        "off.",
    )


def autovacuum(connection: Connection, tables: Tables) -> Iterator[Check]:
    is_on = connection.scalar(text("SHOW autovacuum")) == "on"
    names = connection.scalars(_AUTOVACUUM, {"names": _names(tables)}).all()
    if not is_on:
        yield reminder(
            "autovacuum",
            f"It is off on the server: {_PILE_UP}",
            "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
        )
    for name in names:
        yield reminder(
            "autovacuum",
            f"It is off for {name}: {_PILE_UP}",
            f"ALTER TABLE {name} RESET (autovacuum_enabled);",
        )
    if is_on and not names:
        yield ok("autovacuum", "It is on.")


def dead_rows(connection: Connection, tables: Tables, thresholds: Thresholds) -> Iterator[Check]:
    wanted = {"names": _names(tables), "dead": thresholds.dead_rows}
    rows = connection.execute(_DEAD_ROWS, wanted).all()
    for row in rows:
        yield reminder(
            "dead rows",
            f"{row.name} has {row.dead:,} dead rows and {row.live:,} live ones.",
            f"VACUUM (ANALYZE) {row.name}; if they stay, see old snapshots and autovacuum here.",
        )
    if not rows:
        most = thresholds.dead_rows
        yield ok(
            "dead rows", f"No table has {most:,} or more dead rows that outnumber the live ones."
        )


def old_snapshots(connection: Connection, thresholds: Thresholds) -> Iterator[Check]:
    patience = thresholds.old_transaction
    age = {"age": patience.total_seconds()}
    checks = [
        *(_transaction(row) for row in connection.execute(_OLD_TRANSACTIONS, age)),
        *(_prepared(row) for row in connection.execute(_PREPARED, age)),
        *(_slot(name) for name in connection.scalars(_SLOTS)),
        *_hidden(connection.scalar(_HIDDEN) or 0),
    ]
    yield from checks
    if not checks:
        yield ok(_SNAPSHOTS, f"No transaction is older than {describe(patience)}.")


def _transaction(row: Row[Any]) -> Check:
    program = f"{row.usename}, {row.application_name}" if row.application_name else row.usename
    found = (
        f"Process {row.pid} ({program}) has a transaction open for {_age(row)}, {row.state}. "
        f"{_HELD}"
    )
    way_out = f"End it in its program, or: SELECT pg_terminate_backend({row.pid});"
    if row.state == "active":  # such as a long report, which will end
        return reminder(_SNAPSHOTS, found, way_out)
    return problem(
        _SNAPSHOTS, found, f"{way_out} The setting idle_in_transaction_session_timeout does so."
    )


def _prepared(row: Row[Any]) -> Check:
    return problem(
        _SNAPSHOTS,
        f"Transaction {row.gid} was prepared {_age(row)} ago and not ended. {_HELD}",
        f"COMMIT PREPARED {row.gid}; or ROLLBACK PREPARED {row.gid};",
    )


def _slot(name: str) -> Check:
    return problem(
        _SNAPSHOTS,
        f"The replication slot {name!r} is inactive and keeps a snapshot. {_HELD}",
        f"Start its standby again, or: SELECT pg_drop_replication_slot('{name}');",
    )


def _hidden(count: int) -> Iterator[Check]:
    if count:
        yield reminder(
            _SNAPSHOTS,
            f"{count:,} {'session' if count == 1 else 'sessions'} of other users cannot be seen.",
            "GRANT pg_read_all_stats TO the user of this connection.",
        )


def _age(row: Row[Any]) -> str:
    return describe(timedelta(seconds=float(row.age)))


def _names(tables: Tables) -> list[str]:
    # Quoted, or the server would convert the name to lowercase.
    return [f'"{table.name}"' for table in tables.metadata.sorted_tables]
