"""Dialects: the differences between the databases.

Start with `base.py`, which lists the differences. Each database has a folder with its `dialect`,
`claim`, `complete` and `insert`.
"""

from __future__ import annotations

from geneva_drive.errors import InvalidInput
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.mysql.column_types import MySQLTypes
from geneva_drive.storage.dialects.mysql.dialect import MySQL
from geneva_drive.storage.dialects.postgresql.column_types import PostgreSQLTypes
from geneva_drive.storage.dialects.postgresql.dialect import PostgreSQL
from geneva_drive.storage.dialects.sqlite.dialect import SQLite
from geneva_drive.storage.schema import column_types

column_types.register(PostgreSQLTypes(), "postgresql")
column_types.register(MySQLTypes(), "mysql", "mariadb")

_DIALECTS: dict[str, type[Dialect]] = {
    "sqlite": SQLite,
    "postgresql": PostgreSQL,
    "mysql": MySQL,
    "mariadb": MySQL,
}


def for_name(name: str) -> Dialect:
    try:
        return _DIALECTS[name]()
    except KeyError:
        raise InvalidInput(
            f"GenevaDrive runs on SQLite, PostgreSQL and MySQL/MariaDB, not on {name!r}."
        ) from None
