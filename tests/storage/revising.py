"""Databases of a former revision, whole or left half way to the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from sqlalchemy import Engine, inspect

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from geneva_drive.storage.schema.keys import KeyType

# By dialect: the statements that `geneva migrate --sql` prints.
_PRINTED: dict[tuple[str, KeyType], list[str]] = {}
# By the statements that made it: the tables of a MySQL database, as the server writes them.
_DUMPS: dict[tuple[str, ...], list[str]] = {}


def half_way(counts: Iterable[int]) -> pytest.MarkDecorator:
    """Leave a migration half way, after each `count` of statements.

    PostgreSQL migrates in one transaction, so that only a person who runs the printed statements
    one by one can leave it half way: there, one place stands for all.
    """
    elsewhere = pytest.mark.databases("sqlite", "mysql")
    return pytest.mark.parametrize(
        "count",
        [count if count == 1 else pytest.param(count, marks=elsewhere) for count in counts],
    )


@dataclass(frozen=True)
class Revision:
    """A revision, and what makes it of the one before."""

    name: str

    @property
    def former(self) -> str:
        return revisions.REVISIONS[self._place - 1]

    @property
    def _place(self) -> int:
        return revisions.REVISIONS.index(self.name)

    def statements_of(
        self, drive: gd.Drive, key_type: KeyType = KeyType.BIGINT
    ) -> tuple[list[str], list[str]]:
        """Give what makes the tables up to the former revision, and what makes this one of them."""
        written = printed_statements(drive, key_type)
        ends = [
            number
            for number, each in enumerate(written, 1)
            if "schema_version" in each and number > 1
        ]
        former, present = ends[self._place - 1], ends[self._place]
        return written[:former], written[former:present]


def printed_statements(drive: gd.Drive, key_type: KeyType = KeyType.BIGINT) -> list[str]:
    """Return the statements that migrate a database without our tables; printed once a process.

    `key_type` is what the migration detects there.
    """
    at = drive.engine.dialect.name, key_type
    if at not in _PRINTED:
        stripped = (each.strip() for each in drive.migration_sql().split(";"))
        _PRINTED[at] = [each for each in stripped if each and each not in ("BEGIN", "COMMIT")]
    return _PRINTED[at]


def create_tables(engine: Engine, statements: list[str]) -> None:
    """Make what `statements` make in a database without our tables, as fast as it can.

    PostgreSQL runs them in one transaction. MySQL commits each by itself, so that the second time
    it creates each table in its last form.
    """
    match engine.dialect.name:
        case "postgresql":
            run(engine, [";".join(statements)])
        case "mysql" if tuple(statements) in _DUMPS:
            run(engine, _DUMPS[tuple(statements)])
        case "mysql":
            run(engine, statements)
            _DUMPS[tuple(statements)] = _dump(engine)
        case _:
            run(engine, statements)


def run(engine: Engine, statements: list[str]) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def _dump(engine: Engine) -> list[str]:
    tables = [name for name in inspect(engine).get_table_names() if name.startswith("geneva_")]
    version_table = revisions.version_table("geneva_drive_")
    with engine.connect() as connection:
        create = [connection.exec_driver_sql(f"SHOW CREATE TABLE {name}") for name in tables]
        version = connection.exec_driver_sql(f"SELECT version_num FROM {version_table}").scalar()
        return [
            "SET foreign_key_checks = 0",  # in no order
            *(found.one()[1] for found in create),
            f"INSERT INTO {version_table} VALUES ('{version}')",
            "SET foreign_key_checks = 1",
        ]
