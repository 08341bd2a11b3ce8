"""The bench's own tables in the user's database, created before and dropped after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from sqlalchemy import Connection, MetaData, Table, inspect

from geneva_drive.clock import SystemClock
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput, NotCreated
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.connections.database_file import explain_file_errors

PREFIX = "geneva_bench_"


class TablesTaken(InvalidInput):
    """The tables exist: another bench is running, was killed, or kept them."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} has the tables {PREFIX}* of another bench, which is running, "
            f"was killed or kept them. If none is running, `geneva bench --force` drops them."
        )


class PrefixTaken(InvalidInput):
    def __init__(self) -> None:
        super().__init__(
            f"`geneva bench` drops all tables with the prefix {PREFIX!r}, which is your "
            f"table_prefix. Use a Drive with another table_prefix."
        )


@contextmanager
def own_tables(drive: Drive, *, force: bool, keep: bool) -> Iterator[Drive]:
    """Yield a Drive on the same engine whose tables exist only within the block."""
    if drive.settings.table_prefix == PREFIX:
        raise PrefixTaken
    database = Database(drive.engine, drive.settings)
    if database.is_absent:
        raise NotCreated(database.url)
    with explain_file_errors(database.engine):
        _clear(database, force=force)
    settings = {f.name: getattr(drive.settings, f.name) for f in fields(drive.settings)}
    # The app's clock may be frozen; the bench needs a real one.
    bench = Drive(drive.engine, **settings | {"table_prefix": PREFIX, "clock": SystemClock()})
    try:
        bench.migrate()
        yield bench
    finally:
        bench.close()
        if not keep:
            _clear(database, force=True)


def _clear(database: Database, *, force: bool) -> None:
    with database.translating(), database.transaction() as connection:
        tables = _present(connection)
        if tables and not force:
            raise TablesTaken(database.url)
        for name in reversed(tables):
            Table(name, MetaData()).drop(connection)


def _present(connection: Connection) -> list[str]:
    """Return the bench's tables; referenced tables come first."""
    sorted_tables = inspect(connection).get_sorted_table_and_fkc_names()
    return [name for name, _ in sorted_tables if name and name.startswith(PREFIX)]
