"""Health checks for MySQL and MariaDB: isolation, durability, old transactions, undo history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Connection, text

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

# `trx_started` is in the server's time zone, not in the session's.
_OLD_TRANSACTIONS = text("""
    SELECT trx_mysql_thread_id AS id, trx_query AS query, TIMESTAMPDIFF(
        SECOND, trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) AS age
    FROM information_schema.innodb_trx
    WHERE trx_mysql_thread_id <> CONNECTION_ID()
    HAVING age >= :age
    ORDER BY age DESC, id
""")
_HISTORY = text(
    "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
)


def looks(thresholds: Thresholds) -> Iterator[tuple[str, Look]]:
    yield "isolation", isolation
    yield "durability", durability
    yield "old snapshots", lambda c: old_snapshots(c, thresholds)
    yield "history", lambda c: history(c, thresholds)


def durability(connection: Connection) -> Iterator[Check]:
    flush = connection.scalar(text("SELECT @@innodb_flush_log_at_trx_commit"))
    words = f"innodb_flush_log_at_trx_commit is {flush}"
    if flush == 1:
        yield ok("durability", f"{words}.")
        return
    yield problem(
        "durability",
        f"{words}: the last commits may be lost if the server crashes.",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1, also in the server's configuration.",
    )


def old_snapshots(connection: Connection, thresholds: Thresholds) -> Iterator[Check]:
    patience = thresholds.old_transaction
    rows = connection.execute(_OLD_TRANSACTIONS, {"age": patience.total_seconds()}).all()
    for row in rows:
        age = describe(timedelta(seconds=row.age))
        found = (
            f"Connection {row.id} has a transaction open for {age}, "
            f"{'running a statement' if row.query else 'doing nothing'}. Old versions of rows are "
            f"kept for it, and every claim has to read past them."
        )
        judge = reminder if row.query else problem
        yield judge("old snapshots", found, f"End it in its program, or: KILL {row.id};")
    if not rows:
        yield ok("old snapshots", f"No transaction is older than {describe(patience)}.")


def history(connection: Connection, thresholds: Thresholds) -> Iterator[Check]:
    length = int(connection.scalar(_HISTORY) or 0)
    if length < thresholds.history_length:
        yield ok("history", f"{length:,} changes wait to be purged.")
        return
    yield reminder(
        "history",
        f"{length:,} changes wait to be purged, and claims have to read past those of their rows.",
        "End old transactions; SHOW ENGINE INNODB STATUS shows them and the progress of the purge.",
    )
