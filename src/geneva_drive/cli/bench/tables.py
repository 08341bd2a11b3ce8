"""Tables of the bench's own in the user's database: made for it, and dropped after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

from sqlalchemy import Connection, MetaData, Table, inspect

from geneva_drive.clock import SystemClock
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput, NotCreated
from geneva_drive.storage.connections.database import Database

PREFIX = "geneva_bench_"


class TablesTaken(InvalidInput):
    """Another bench runs, or was killed, or kept its tables."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} has tables of another bench, {PREFIX}*, which is running, was "
            f"killed, or kept them. If none is running, `geneva bench --force` drops them first."
        )


class PrefixTaken(InvalidInput):
    def __init__(self) -> None:
        super().__init__(
            f"Your table_prefix is {PREFIX!r}, which `geneva bench` drops the tables of. "
            f"Measure with a Drive of another table_prefix."
        )


@contextmanager
def own_tables(drive: Drive, *, force: bool, keep: bool) -> Iterator[Drive]:
    """Give a Drive on the same engine whose tables are there for this block only."""
    if drive.settings.table_prefix == PREFIX:
        raise PrefixTaken
    database = Database(drive.engine, drive.settings)
    if database.is_absent:
        raise NotCreated(database.url)
    _clear(database, force=force)
    settings = {f.name: getattr(drive.settings, f.name) for f in fields(drive.settings)}
    # The app's clock may stand still, say, and nothing here is to be scheduled by it.
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
    """Name our tables, those first that others refer to."""
    sorted_tables = inspect(connection).get_sorted_table_and_fkc_names()
    return [name for name, _ in sorted_tables if name and name.startswith(PREFIX)]
