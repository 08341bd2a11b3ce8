"""Column types that mean the same on every database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Integer, String, Text, Uuid
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class Moment(TypeDecorator[datetime]):
    """An aware UTC moment with microseconds."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True, precision=6))
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or dialect.name == "postgresql":
            return value
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value.astimezone(UTC)


def name_type(length: int = 191) -> TypeEngine[str]:
    """Text that names things: compared byte by byte, or 'abc' would equal 'ABC' on MySQL."""
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
    )


def long_text() -> TypeEngine[str]:
    # MySQL's TEXT ends at 64 KiB.
    return Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def big_integer_key() -> TypeEngine[int]:
    # SQLite numbers rows by itself only in a column of type INTEGER.
    return BigInteger().with_variant(Integer(), "sqlite")


def uuid_key() -> TypeEngine[Any]:
    return Uuid()
