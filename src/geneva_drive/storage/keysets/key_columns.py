"""The columns of a key, read and compared in the database's own order.

A loop resumes after the values that it has read. Where a database returns a value other than the
stored one, or sorts differently than it compares, the loop would lose records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    CHAR,
    BindParameter,
    Boolean,
    Date,
    DateTime,
    Dialect,
    Double,
    Enum,
    Float,
    Integer,
    LargeBinary,
    Numeric,
    String,
    Time,
    TypeDecorator,
    Uuid,
    bindparam,
    cast,
    type_coerce,
)
from sqlalchemy.types import TypeEngine, UserDefinedType

from geneva_drive.errors import InvalidInput
from geneva_drive.storage.keysets.query_shape import Column, may_hold

_EXACT = (Boolean, Integer, Numeric, String, LargeBinary, Uuid, Date, DateTime, Time)


@dataclass(frozen=True, slots=True, eq=False)  # columns answer == with SQL
class KeyColumn:
    """A column, the expression that reads it (`shown`), and how its values are compared."""

    column: Column
    shown: Column
    value_type: TypeEngine[Any]
    sorted_as: Callable[[Column], Column] | None = None
    is_exact: bool = True  # the database is known to return the values that it compares

    @property
    def is_shown_as_it_is(self) -> bool:
        return self.shown is self.column

    @property
    def place(self) -> Column:
        return self._placed(self.column)

    def value(self, name: str | None, given: Any = None) -> BindParameter[Any]:
        """Return a parameter with this name; without a name, with the value `given`."""
        if name is None:
            return bindparam(None, given, type_=self.value_type, unique=True)
        return bindparam(name, type_=self.value_type)

    # Compares the column itself, so that an index on it is used.
    def equals(self, value: Column) -> Column:
        return self.column == value

    def is_after(self, value: Column) -> Column:
        return self.place > self._placed(value)

    def is_from(self, value: Column) -> Column:
        return self.place >= self._placed(value)

    def is_before(self, value: Column) -> Column:
        return self.place < self._placed(value)

    def is_up_to(self, value: Column) -> Column:
        return self.place <= self._placed(value)

    def may_be(self, value: Any, dialect: Dialect) -> bool:
        if may_hold(self.column, value):
            return True
        return isinstance(self.value_type, AsStored) and self.value_type.may_be(value, dialect)

    def _placed(self, value: Column) -> Column:
        return value if self.sorted_as is None else self.sorted_as(value)


def key_column(column: Column, dialect: Dialect) -> KeyColumn:
    stored = _stored_type(column.type, dialect)
    if stored.__visit_name__ == "SET":
        raise InvalidInput(
            f"{column} holds sets, which have no order that a loop could follow. Order by the "
            f"primary key, or by a column whose values are read back exactly as they are stored."
        )
    if dialect.name in ("mysql", "mariadb") and isinstance(stored, Enum) and stored.native_enum:
        return KeyColumn(column, column, column.type, _in_the_order_of_its_bytes)
    if isinstance(column.type, TypeDecorator):
        return KeyColumn(column, column, column.type, is_exact=False)
    shown = _shown_exactly(column, stored, dialect)
    if dialect.name == "postgresql" and isinstance(stored, String) and not isinstance(stored, Enum):
        return KeyColumn(column, shown, _OfTheColumnsType())
    return KeyColumn(column, shown, shown.type, is_exact=isinstance(stored, _EXACT))


def _stored_type(declared: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    if isinstance(declared, TypeDecorator):
        return declared.type_engine(dialect)
    return declared.dialect_impl(dialect)


def _in_the_order_of_its_bytes(value: Column) -> Column:
    # MySQL sorts an enum by the position of its names, but compares the names.
    return cast(cast(value, CHAR()), LargeBinary())


def _shown_exactly(column: Column, stored: TypeEngine[Any], dialect: Dialect) -> Column:
    is_sqlite = dialect.name == "sqlite"
    match stored:
        # MySQL returns a four-byte float with six digits, PostgreSQL with as many as identify it.
        # Both compare all bits, which only a cast to an eight-byte float returns.
        case Float() if not is_sqlite:
            return cast(column, Double())
        case Float() if stored.asdecimal:
            return type_coerce(column, Double())
        case Float():
            return column
        # SQLite stores any value: digits beyond the scale, or moments without fractions of a
        # second, such as CURRENT_TIMESTAMP.
        case Numeric() | DateTime() | Date() | Time() if is_sqlite:
            return type_coerce(column, AsStored(column.type))
        case Uuid() if is_sqlite and stored.as_uuid:
            return type_coerce(column, AsStored(column.type))
        case Numeric() if not stored.asdecimal:
            return type_coerce(column, Numeric(stored.precision, stored.scale))
    return column


class AsStored(UserDefinedType[Any]):
    """A value of the type `kept` if that type writes what it has read; otherwise the raw value."""

    cache_ok = True

    def __init__(self, kept: TypeEngine[Any]) -> None:
        self.kept = kept

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        write = self._write(dialect)

        def bind(value: Any) -> Any:
            return write(value) if self._is_kept(value) else value

        return bind

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        write, read = self._write(dialect), self._read(dialect, coltype)

        def result(held: Any) -> Any:
            value = read(held)
            return value if value is None or write(value) == held else held

        return result

    def may_be(self, held: Any, dialect: Dialect) -> bool:
        """True if SQLite may have stored this raw value, which the type itself would not write."""
        try:
            value = self._read(dialect, None)(held)
        except (AttributeError, TypeError, ValueError):
            return False
        return bool(self._write(dialect)(value) != held)

    def _is_kept(self, value: Any) -> bool:
        return isinstance(value, self.kept.python_type)

    def _write(self, dialect: Dialect) -> Callable[[Any], Any]:
        return self.kept.dialect_impl(dialect).bind_processor(dialect) or _unchanged

    def _read(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        return self.kept.dialect_impl(dialect).result_processor(dialect, coltype) or _unchanged


class _OfTheColumnsType(UserDefinedType[Any]):
    """A text that PostgreSQL casts to the type of the column that it is compared with.

    As a VARCHAR parameter, it would be compared with a CITEXT column as VARCHAR, in a different
    order.
    """

    cache_ok = True


def _unchanged(value: Any) -> Any:
    return value
