"""Column types that behave the same on every database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Integer, String, Text, Uuid
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from geneva_drive.serialization import typed_json


class ColumnTypes:
    """The types of columns: SQLAlchemy's common types, as on SQLite.

    A dialect that needs different types registers a subclass.
    """

    keeps_time_zone = False

    def moment(self) -> TypeEngine[datetime]:
        return DateTime()

    def name(self, length: int | None, dialect: Dialect) -> TypeEngine[str]:  # noqa: ARG002 - MySQL's differ
        return String(length)

    def long_text(self) -> TypeEngine[str]:
        return Text()


_COMMON = ColumnTypes()
_OF_DATABASES: dict[str, ColumnTypes] = {}


def register(types: ColumnTypes, *dialect_names: str) -> None:
    """Use these types on the databases with these names in SQLAlchemy."""
    _OF_DATABASES.update(dict.fromkeys(dialect_names, types))


def _types_of(dialect: Dialect) -> ColumnTypes:
    return _OF_DATABASES.get(dialect.name, _COMMON)


class Moment(TypeDecorator[datetime]):
    """An aware UTC moment with microseconds."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_types_of(dialect).moment())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or _types_of(dialect).keeps_time_zone:
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
        return dialect.type_descriptor(_types_of(dialect).name(length, dialect))


def name_type(length: int = 191) -> TypeEngine[str]:
    return Name(length)


class FreeText(TypeDecorator[str]):
    """Text of any length; characters that a database refuses are replaced."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_types_of(dialect).long_text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - as in TypeDecorator
        return None if value is None else typed_json.safe_text(value)


def long_text() -> TypeEngine[str]:
    return FreeText()


def big_integer_key() -> TypeEngine[int]:
    # SQLite generates keys only in a column of type INTEGER.
    return BigInteger().with_variant(Integer(), "sqlite")


def uuid_key() -> TypeEngine[Any]:
    # Only some MariaDB servers have a UUID type, and a printed migration cannot know which.
    return Uuid().with_variant(Uuid(native_uuid=False), "mysql", "mariadb")
