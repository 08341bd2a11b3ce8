"""Health checks of SQLite."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, text

from geneva_drive.storage.dialects.health_check import Check, ok, problem


def journal(connection: Connection) -> Iterator[Check]:
    mode = connection.scalar(text("PRAGMA journal_mode"))
    if mode == "wal":
        yield ok("journal", "Its mode is 'wal'.")
        return
    yield problem(
        "journal",
        f"Its mode is {mode!r}, not 'wal': readers and the writer wait for one another.",
        "Restart the processes: each turns it on when it connects. A network file system does not "
        "support it: keep the file on a local disk.",
    )
