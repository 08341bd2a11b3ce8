"""Cursor columns of every type: each record once, from wherever the loop resumes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

import pytest
from sqlalchemy import (
    CHAR,
    REAL,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Double,
    Enum,
    Float,
    Integer,
    Interval,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    Time,
    TypeDecorator,
    Uuid,
    insert,
    select,
    text,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Session, registry

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.records import pairs
from geneva_drive.serialization.typed_json import dump, load
from geneva_drive.storage.keysets.cursor_errors import CursorNotExact
from geneva_drive.storage.keysets.keyset import Keyset


class Status(enum.Enum):
    """Declared in another order than that of the letters."""

    NEW = 1
    DONE = 2
    ARCHIVED = 3


NAMESPACE = UUID(int=7)
NOON = datetime(2026, 1, 1, 12, 30, 15)  # noqa: DTZ001 - as a column without a time zone gives it

# What the twelve records hold: ties, values that are no round numbers, and both edges.
CASES: dict[str, tuple[Any, list[Any]]] = {
    "enum": (Enum(Status), list(Status)),
    "enum as text": (Enum(Status, native_enum=False), list(Status)),
    "float": (Float(), [n / 7 for n in range(1, 9)]),
    "float of 24 bits": (Float(24), [n / 7 for n in range(1, 9)]),
    "float as decimal": (Float(asdecimal=True), [n / 7 for n in range(1, 9)]),
    "real": (REAL(), [n / 7 for n in range(1, 9)]),
    "double": (Double(), [n / 7 for n in range(1, 9)]),
    "zeros": (Double(), [-0.0, 0.0, 1.5, -1.5]),
    "decimal": (Numeric(10, 2), [Decimal(n) / 8 for n in range(1, 9)]),
    "decimal as float": (
        Numeric(30, 20, asdecimal=False),
        [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")],
    ),
    "cases": (String(20), ["a", "A", "b", "B", "ä", "Ä", "a "]),
    "padded": (CHAR(6), ["a", "A", "b", "b c", ""]),
    "text": (Text(), ["a", "A", "b", "x" * 300]),
    "bytes": (LargeBinary(), [b"", b"\x00", b"\xff", b"a", b"A"]),
    "boolean": (Boolean(), [True, False]),
    "uuid": (Uuid(), [uuid5(NAMESPACE, str(n)) for n in range(8)]),
    "date": (Date(), [date(2026, 1, n) for n in (1, 2, 30)]),
    "datetime": (DateTime(), [NOON + timedelta(seconds=n) for n in range(5)]),
    "aware datetime": (
        DateTime(timezone=True),
        [NOON.replace(tzinfo=UTC) + timedelta(seconds=n) for n in range(5)],
    ),
    "time": (Time(), [time(12, 30, n) for n in range(5)]),
    "interval": (Interval(), [timedelta(seconds=n, days=n) for n in range(5)]),
}


@contextmanager
def table(drive: gd.Drive, column_type: Any, values: list[Any]) -> Iterator[Table]:
    things = Table(
        "keyset_things",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("value", column_type),
    )
    things.create(drive.engine)
    try:
        with drive.engine.begin() as connection:
            connection.execute(
                insert(things),
                [{"id": n, "value": values[n * 5 % len(values)]} for n in range(1, 13)],
            )
        yield things
    finally:
        things.drop(drive.engine)


def walk(drive: gd.Drive, query: Any, after: Any = None, chunk: int = 5) -> list[tuple[int, Any]]:
    keyset = Keyset(query, "value", open_session=lambda: Session(drive.engine))
    walked = []
    for item, cursor in pairs(keyset, after, chunk):
        walked.append((item.id, load(dump(cursor))))
        assert len(walked) < 50, "walked for ever"
    return walked


def assert_each_once_from_anywhere(drive: gd.Drive, query: Any) -> None:
    whole = walk(drive, query)
    ids = [key for key, _ in whole]

    assert sorted(ids) == list(range(1, 13))
    for place, (_, cursor) in enumerate(whole, start=1):
        assert [key for key, _ in walk(drive, query, cursor)] == ids[place:]


@pytest.mark.parametrize("case", CASES)
def test_rows_in_the_order_of_a_column_of_any_type_come_once(case: str, geneva: gd.Drive) -> None:
    with table(geneva, *CASES[case]) as things:
        assert_each_once_from_anywhere(geneva, select(things))


@pytest.mark.parametrize("case", CASES)
def test_entities_in_the_order_of_a_column_of_any_type_come_once(
    case: str, geneva: gd.Drive
) -> None:
    class Thing:
        id: int

    with table(geneva, *CASES[case]) as things:
        registry().map_imperatively(Thing, things)

        assert_each_once_from_anywhere(geneva, select(Thing))


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    ("column_type", "stored"),
    [
        (Numeric(10, 2), "id % 4 / 7.0"),
        (Numeric(), "id % 4 / 70000.0 / 70000.0"),
        (Numeric(20), "1152921504606846976 + id % 4"),
        (DateTime(), "'2026-01-01 12:30:1' || (id % 4)"),
        (DateTime(), "'2026-01-01 12:30:15' || CASE id % 4 WHEN 2 THEN '.5' ELSE '' END"),
        (Time(), "'12:30:1' || (id % 4)"),
        (Uuid(), "'00000000-0000-0000-0000-00000000000' || (id % 4)"),
    ],
    ids=["scale", "small", "large", "moments", "fractions", "times", "uuids"],
)
def test_what_sqlite_holds_in_another_form_than_the_type_writes_comes_once(
    column_type: Any, stored: str, geneva: gd.Drive
) -> None:
    with table(geneva, column_type, [None]) as things:
        with geneva.engine.begin() as connection:
            connection.execute(text(f"UPDATE keyset_things SET value = {stored}"))

        assert_each_once_from_anywhere(geneva, select(things))


def test_a_value_that_is_written_as_it_was_read_keeps_its_type(geneva: gd.Drive) -> None:
    with table(geneva, Numeric(10, 2), [Decimal("1.50")]) as things:
        assert walk(geneva, select(things))[0] == (1, (Decimal("1.50"), 1))


@pytest.mark.databases("postgresql")  # types of PostgreSQL
@pytest.mark.parametrize(
    ("declared", "real", "values"),
    [
        (String(20), "CITEXT", ["a", "A", "b", "B", "c"]),
        (String(20), "CHAR(6)", ["a", "A", "b", ""]),
        (Float(), "REAL", [n / 7 for n in range(1, 9)]),
        (Double(), "REAL", [float("nan"), float("inf"), 0.1]),
    ],
    ids=["citext", "char", "real", "nan"],
)
def test_a_type_of_postgresql_that_is_declared_as_another_loses_nothing(
    declared: Any, real: str, values: list[Any], geneva: gd.Drive
) -> None:
    with table(geneva, declared, values) as things:
        with geneva.engine.begin() as connection:
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS citext"))
            connection.execute(text(f"ALTER TABLE keyset_things ALTER value TYPE {real}"))

        assert_each_once_from_anywhere(geneva, select(things))


@pytest.mark.databases("postgresql")  # a type of PostgreSQL
def test_an_interval_of_years_is_refused_for_its_days_are_counted_otherwise(
    geneva: gd.Drive,
) -> None:
    with table(geneva, Interval(), [timedelta(days=3)]) as things:
        with geneva.engine.begin() as connection:
            connection.execute(text("UPDATE keyset_things SET value = '2 years'"))

        with pytest.raises(CursorNotExact):
            walk(geneva, select(things))


@pytest.mark.databases("mysql")  # a type of MySQL
def test_sets_are_refused_before_the_body_runs(geneva: gd.Drive) -> None:
    with (
        table(geneva, mysql.SET("a", "b"), [{"a"}, {"b"}]) as things,
        pytest.raises(InvalidInput) as refusal,
    ):
        walk(geneva, select(things))

    assert str(refusal.value) == (
        "keyset_things.value holds sets, which have no order that a loop could follow. Order by "
        "the primary key, or by a column whose values are read back exactly as they are stored."
    )


class Rounded(TypeDecorator[float]):
    """A type of a user's own that gives less than is stored."""

    impl = Double
    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return float(round(value))


@pytest.mark.parametrize("part", [0.3, 0.7], ids=["down", "up"])
def test_a_type_that_gives_other_values_than_it_compares_is_refused_before_the_body_runs(
    part: float, geneva: gd.Drive
) -> None:
    with table(geneva, Rounded(), [n + part for n in range(9)]) as things:
        keyset = Keyset(select(things), "value", open_session=lambda: Session(geneva.engine))
        with pytest.raises(CursorNotExact) as refusal:
            keyset.read(None, 5)

    assert str(refusal.value).startswith("The cursor (")
    assert str(refusal.value).endswith(
        ") is not the position of its record in the order of keyset_things.value, "
        "keyset_things.id: the database compares other values than it returns. Order by the "
        "primary key, or by a column whose values are read back exactly as they are stored."
    )
