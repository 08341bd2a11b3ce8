"""Queries in which a loop would lose its place: refused, or noticed while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    insert,
    select,
    update,
)
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, NullCursor
from geneva_drive.iteration.sources.records import batch_pairs, pairs
from geneva_drive.storage.keysets.cursor_errors import RepeatedKey
from geneva_drive.storage.keysets.keyset import Keyset
from tests.users_tables import make_empty

METADATA = MetaData()
TOWNS = Table("keyset_towns", METADATA, Column("id", Integer, primary_key=True))
STREETS = Table(
    "keyset_streets",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("town_id", ForeignKey("keyset_towns.id"), nullable=False),
    Column("rank", Integer),
)


@pytest.fixture
def read(geneva: gd.Drive) -> Callable[..., Keyset]:
    make_empty(geneva.engine, METADATA)
    with geneva.engine.begin() as connection:
        connection.execute(insert(TOWNS), [{"id": n} for n in range(1, 5)])
        streets = [{"id": n, "town_id": (n + 4) // 5, "rank": n} for n in range(1, 21)]
        connection.execute(insert(STREETS), streets)

    def read(query: Any, cursor: Any = "id") -> Keyset:
        return Keyset(query, cursor, open_session=lambda: Session(geneva.engine))

    return read


JOINED = select(TOWNS.c.id).join(STREETS).subquery("joined")
DOUBLED = select(STREETS.c.id).union_all(select(STREETS.c.id)).subquery("doubled")


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("query", "first"), [(select(JOINED), 1), (select(DOUBLED), 1)], ids=["join", "union"]
)
def test_rows_with_the_key_of_others_are_noticed_wherever_a_chunk_ends(
    query: Any, first: int, chunk: int, read: Callable[..., Keyset]
) -> None:
    with pytest.raises(RepeatedKey) as refusal:
        list(pairs(read(query), None, chunk))

    assert refusal.value.cursor == first
    assert str(refusal.value) == (
        f"Several rows have the cursor 1, made of {refusal.value.columns[0]}, so a loop could skip "
        f"some of them silently. Add a column to cursor= that distinguishes them, or select from "
        f"the tables themselves."
    )


def test_batches_notice_rows_with_the_key_of_others(read: Callable[..., Keyset]) -> None:
    with pytest.raises(RepeatedKey):
        list(batch_pairs(read(select(DOUBLED)), None, 3))


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_subquery_whose_rows_have_keys_of_their_own_is_walked(
    chunk: int, read: Callable[..., Keyset]
) -> None:
    streets = select(STREETS).subquery()

    walk = pairs(read(select(streets), "town_id"), None, chunk)

    assert [row.id for row, _ in walk] == list(range(1, 21))


def test_a_null_that_came_while_the_loop_went_on_is_told_at_its_end(
    read: Callable[..., Keyset], geneva: gd.Drive
) -> None:
    walk = pairs(read(select(STREETS), "rank"), None, 2)
    seen = [next(walk)[0].id]

    with geneva.engine.begin() as connection:
        connection.execute(update(STREETS).where(STREETS.c.id == 15).values(rank=None))
    with pytest.raises(
        NullCursor, match=r"The cursor column keyset_streets\.rank has rows with NULL,"
    ):
        seen.extend(row.id for row, _ in walk)

    assert len(seen) == 19


@pytest.mark.parametrize(
    ("cursor", "shown"),
    [
        (STREETS.c.rank.desc(), "keyset_streets.rank DESC"),
        (STREETS.c.rank.asc(), "keyset_streets.rank ASC"),
        ("-rank", "-rank"),
        (["town_id", "-rank"], "-rank"),
    ],
    ids=["descending", "ascending", "name", "list"],
)
def test_a_cursor_with_a_direction_is_refused(
    cursor: Any, shown: str, read: Callable[..., Keyset]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(select(STREETS), cursor)

    assert str(refusal.value) == (
        f"The cursor {shown!r} names a direction, but a loop goes through its records in ascending "
        f"order; descending is not supported. Pass the column alone as cursor=."
    )
