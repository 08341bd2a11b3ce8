"""Records that are equal in the cursor column, however many of them come before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    Enum,
    ForeignKey,
    Index,
    String,
    insert,
    select,
    text,
)
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    joinedload,
    mapped_column,
    relationship,
)

import geneva_drive as gd
from geneva_drive.iteration.sources.records import batch_pairs, pairs
from geneva_drive.storage.keysets.keyset import Keyset
from tests.storage.plans import noted, plan
from tests.users_tables import make_empty


class Base(DeclarativeBase):
    """The users' own tables."""


class Visit(Base):
    __tablename__ = "keyset_visits"
    __table_args__ = (Index("keyset_visits_by_town", "town", "street", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    town: Mapped[str] = mapped_column(String(20))
    street: Mapped[int]
    size: Mapped[str] = mapped_column(Enum("small", "large", "huge", name="keyset_sizes"))
    notes: Mapped[list[Note]] = relationship(order_by="Note.id")


class Note(Base):
    __tablename__ = "keyset_visit_notes"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    visit_id: Mapped[int] = mapped_column(ForeignKey("keyset_visits.id"))


SIZES = ("small", "large", "huge")
KEYS = sorted(("ABC"[n // 20], n % 10 // 5, n) for n in range(60))
QUERIES: dict[str, Any] = {
    "entities": select(Visit),
    "rows": select(Visit.id, Visit.street, Visit.town),
    "loaded along": select(Visit).options(joinedload(Visit.notes)),
    "joined": select(Visit).join(Visit.notes),
}


@pytest.fixture
def visits(geneva: gd.Drive) -> gd.Drive:
    make_empty(geneva.engine, Base.metadata)
    with geneva.engine.begin() as connection:
        rows = [
            {"id": n, "town": town, "street": street, "size": SIZES[n % 3]}
            for town, street, n in KEYS
        ]
        connection.execute(insert(Visit), rows)
        notes = [{"id": 100 * n + k, "visit_id": n} for n in range(60) for k in range(2)]
        connection.execute(insert(Note), notes)
    return geneva


@pytest.fixture
def read(visits: gd.Drive) -> Callable[..., Keyset]:
    def read(query: Any, cursor: Any) -> Keyset:
        return Keyset(query, cursor, open_session=lambda: Session(visits.engine))

    return read


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("chunk", [1, 3, 10, 20, 60])
def test_ties_in_several_columns_are_walked_once(
    query: str, chunk: int, read: Callable[..., Keyset]
) -> None:
    walk = pairs(read(QUERIES[query], ["town", "street"]), None, chunk)

    assert [cursor for _, cursor in walk] == KEYS


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("done", [1, 5, 9, 10, 11, 20, 59, 60])
def test_ties_are_resumed_anywhere(query: str, done: int, read: Callable[..., Keyset]) -> None:
    walk = pairs(read(QUERIES[query], ["town", "street"]), KEYS[done - 1], 7)

    assert [cursor for _, cursor in walk] == KEYS[done:]


@pytest.mark.parametrize("query", ["entities", "loaded along"])
def test_batches_of_ties_follow_each_other(query: str, read: Callable[..., Keyset]) -> None:
    walk = batch_pairs(read(QUERIES[query], ["town", "street"]), None, 7)

    assert [key for batch, _ in walk for key in batch.ids] == [key for *_, key in KEYS]


@pytest.mark.parametrize("query", [select(Visit), QUERIES["loaded along"]], ids=["plain", "along"])
def test_ties_of_an_enum_are_walked_once(query: Any, read: Callable[..., Keyset]) -> None:
    walked = [visit.id for visit, _ in pairs(read(query, "size"), None, 7)]
    batches = [batch for batch, _ in batch_pairs(read(query, "size"), None, 7)]

    assert sorted(walked) == list(range(60))
    assert [key for batch in batches for key in batch.ids] == walked
    assert [visit.id for batch in batches for visit in batch.rows] == walked


@pytest.mark.parametrize("cursor", [["town", "street"], "size"], ids=["columns", "enum"])
def test_shares_of_ties_are_walked_once(cursor: Any, read: Callable[..., Keyset]) -> None:
    whole = read(select(Visit), cursor)
    borders = whole.split(None, 4)

    shares = [
        [visit.id for visit, _ in pairs(whole.up_to(end) if end else whole, start, 4)]
        for start, end in zip([None, *borders], [*borders, None], strict=True)
    ]

    assert [len(share) for share in shares] == [15, 15, 15, 15]
    assert sorted(key for share in shares for key in share) == list(range(60))


def test_a_chunk_of_ties_is_one_statement_and_where_they_end_there_are_two(
    visits: gd.Drive, read: Callable[..., Keyset]
) -> None:
    with noted(visits.engine) as statements:
        assert len(list(pairs(read(select(Visit), "town"), None, 4))) == 60

    # 15 chunks of four, the last of them empty, and towns that end with every fifth.
    assert len(statements) == 16 + 3


INDEX_CONDITIONS = {
    "sqlite": "keyset_visits_by_town (town=? AND street=? AND id>?)",
    "postgresql": "AND (street = 1) AND (id > 19))",
    "mysql": "'range', 'PRIMARY,keyset_visits_by_town', 'keyset_visits_by_town', '90'",
}


def test_ties_before_the_cursor_are_not_looked_at(
    visits: gd.Drive, read: Callable[..., Keyset], database: str
) -> None:
    keyset = read(select(Visit.id, Visit.town, Visit.street), ["town", "street"])

    with noted(visits.engine) as statements:
        keyset.read(("A", 1, 19), 2)

    assert INDEX_CONDITIONS[database] in plan_of_a_large_table(visits, *statements[0])


def plan_of_a_large_table(drive: gd.Drive, statement: str, parameters: Any) -> str:
    if drive.engine.dialect.name != "postgresql":
        return plan(drive, statement, parameters)
    with drive.engine.begin() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        return "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())
