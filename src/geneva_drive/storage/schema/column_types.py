"""Column types that mean the same on every database."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Integer, String, Text, Uuid
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from geneva_drive.serialization import typed_json


def _types_of(dialect_name: str) -> Any:
    """Load a database's own types when it is used: each takes longer to load than all of ours."""
    return importlib.import_module(f"sqlalchemy.dialects.{dialect_name}")


class Moment(TypeDecorator[datetime]):
    """An aware UTC moment with microseconds."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(
                _types_of("postgresql").TIMESTAMP(timezone=True, precision=6)
            )
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(_types_of("mysql").DATETIME(fsp=6))
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


class Name(TypeDecorator[str]):
    """Text that names things, compared byte by byte on every database."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        length = self.impl_instance.length  # type: ignore[attr-defined]  # it is a String
        if dialect.name not in ("mysql", "mariadb"):
            return dialect.type_descriptor(String(length))
        # Their usual collations find that 'abc' equals 'ABC', and utf8mb4_bin that it equals
        # 'abc '; the binary one without padding has another name on each.
        is_mariadb = getattr(dialect, "is_mariadb", False)
        collation = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
        return dialect.type_descriptor(
            _types_of("mysql").VARCHAR(length, charset="utf8mb4", collation=collation)
        )


def name_type(length: int = 191) -> TypeEngine[str]:
    return Name(length)


class FreeText(TypeDecorator[str]):
    """Text of any length that people or programs wrote; what a database refuses is replaced."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        # MySQL's TEXT ends at 64 KiB.
        is_mysql = dialect.name in ("mysql", "mariadb")
        return dialect.type_descriptor(_types_of("mysql").LONGTEXT() if is_mysql else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - as in TypeDecorator
        return None if value is None else typed_json.safe_text(value)


def long_text() -> TypeEngine[str]:
    return FreeText()


def big_integer_key() -> TypeEngine[int]:
    # SQLite numbers rows by itself only in a column of type INTEGER.
    return BigInteger().with_variant(Integer(), "sqlite")


def uuid_key() -> TypeEngine[Any]:
    # Only some MariaDB servers have a type for it, which a printed migration could not know.
    return Uuid().with_variant(Uuid(native_uuid=False), "mysql", "mariadb")
