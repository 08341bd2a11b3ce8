"""Cursors of all kinds, from a QuerySet into the database as text and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from geneva_drive.iteration.sources.querysets import QuerySetRecords
from geneva_drive.iteration.sources.records import batch_pairs
from geneva_drive.serialization.typed_json import dump, load
from tests.iteration.library import (
    Author,
    Book,
    Parcel,
    Stay,
    cursors,
    django,
    ids,
    models,
    refusal_of,
)

pytestmark = pytest.mark.usefixtures("library")

# In the order of each field, with the second and third equal.
VALUES: dict[str, list[Any]] = {
    "weight": [Decimal("-1.5"), Decimal("0.3333"), Decimal("0.3333"), Decimal("10.0001")],
    "length": [-1e300, 1 / 3, 1 / 3, 1e23],
    "sent_at": [datetime(2026, 1, day, 12, 30, 15, 250_001, tzinfo=UTC) for day in (1, 2, 2, 3)],
    "sent_on": [date(1969, 12, 31), date(2026, 1, 2), date(2026, 1, 2), date(2026, 11, 1)],
    "opens_at": [time(0), time(9, 30, 0, 1), time(9, 30, 0, 1), time(23, 59, 59, 999_999)],
    "took": [timedelta(days=-1), timedelta(0, 1, 1), timedelta(0, 1, 1), timedelta(days=400)],
    "number": [-(2**63), 0, 0, 2**63 - 1],
    "is_fragile": [False, True, True, True],
    "sender": ["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3"],
    "seal": [b"", b"\x00a", b"\x00a", b"\xff"],
}
# Texts that some databases treat as equal: capitals, accents, trailing blanks.
CODES = ["b", "B", "b ", "ä", "a", "A", "", "é", "e", "%", "\\", "'"]


COMPOSITE = pytest.mark.skipif(
    django.VERSION < (5, 2), reason="Keys of several fields came with Django 5.2."
)
STAYS = [("Astor", 1), ("Astor", 2), ("Astor", 9), ("Blick", 1), ("Blick", 2)]


@pytest.fixture
def stays() -> None:
    Stay.objects.bulk_create(Stay(hotel=hotel, night=night, price=50) for hotel, night in STAYS)


@pytest.fixture
def parcels() -> list[UUID]:
    """Post four parcels, whose fields ascend with their keys."""
    keys = [UUID(int=place + 1) for place in range(4)]
    Parcel.objects.bulk_create(
        Parcel(id=key, code="", **{name: values[place] for name, values in VALUES.items()})
        for place, key in enumerate(keys)
    )
    return keys


@pytest.mark.parametrize("done", range(5))
@pytest.mark.parametrize("field", VALUES)
def test_a_cursor_of_any_type_finds_its_place_again(
    field: str, done: int, parcels: list[UUID]
) -> None:
    whole = list(zip(VALUES[field], parcels, strict=True))
    saved = load(dump([None, *cursors(Parcel.objects.all(), field)][done]))

    assert cursors(Parcel.objects.all(), field, saved) == whole[done:]


@pytest.mark.parametrize("done", range(5))
def test_a_uuid_finds_its_place_again(done: int, parcels: list[UUID]) -> None:
    saved = load(dump([None, *parcels][done]))

    assert ids(Parcel.objects.all(), saved) == parcels[done:]


@pytest.mark.parametrize("chunk", [1, 2, 5, 100])
def test_text_that_the_database_holds_equal_is_told_apart_by_the_key(chunk: int) -> None:
    first = {name: values[0] for name, values in VALUES.items()}
    Parcel.objects.bulk_create(
        Parcel(id=UUID(int=place), code=code, **first) for place, code in enumerate(CODES)
    )
    whole = cursors(Parcel.objects.all(), "code", chunk=100)

    resumed = [cursors(Parcel.objects.all(), "code", cursor, chunk) for cursor in whole]

    assert sorted(key.int for _, key in whole) == list(range(len(CODES)))
    assert resumed == [whole[done + 1 :] for done in range(len(whole))]


@pytest.mark.parametrize("done", range(7))
def test_a_key_of_text_is_read_in_the_order_of_the_database(done: int) -> None:
    whole = ["1-1", "1-2", "2-1", "2-2", "5-1", "5-2"]

    assert cursors(Book.objects.all(), "isbn", [None, *whole][done]) == whole[done:]


def test_a_foreign_key_is_a_cursor_by_itself_and_not_by_the_order_of_what_it_names() -> None:
    assert cursors(Book.objects.all(), "author_id", (1, "1-2")) == [
        (2, "2-1"),
        (2, "2-2"),
        (5, "5-1"),
        (5, "5-2"),
    ]


@COMPOSITE
@pytest.mark.parametrize("done", range(6))
def test_a_key_of_several_fields_finds_its_place_again(done: int, stays: None) -> None:
    saved = load(dump([None, *STAYS][done]))

    assert cursors(Stay.objects.all(), "pk", saved) == STAYS[done:]


@COMPOSITE
def test_a_batch_of_keys_of_several_fields_updates_exactly_its_records(stays: None) -> None:
    walk = batch_pairs(QuerySetRecords(Stay.objects.all(), "pk"), None, 3)
    batch, cursor = next(walk)

    assert (batch.ids, cursor, batch.update(price=9)) == (STAYS[:3], STAYS[2], 3)

    assert [stay.pk for stay in batch.rows] == STAYS[:3]
    assert sorted(Stay.objects.values_list("price", flat=True)) == [9, 9, 9, 50, 50]
    assert [following.ids for following, _ in walk] == [STAYS[3:]]


def test_nulls_that_the_queryset_leaves_out_do_no_harm() -> None:
    Author.objects.filter(id=3).update(born_on=date(1990, 5, 1))
    authors = Author.objects.filter(born_on__isnull=False)

    assert cursors(authors, "born_on") == [(date(1990, 5, 1), 3)]


def test_nulls_are_refused_where_a_loop_resumes_as_well() -> None:
    records = QuerySetRecords(Author.objects.all(), "born_on")

    assert "NULL in the cursor field 'born_on'" in refusal_of(
        lambda: records.read((date(2000, 1, 1), 1), 2)
    )


def test_batches_are_found_again_by_a_saved_cursor(parcels: list[UUID]) -> None:
    records = QuerySetRecords(Parcel.objects.all(), "weight")
    (_, saved), *_ = batch_pairs(records, None, 2)

    rest = [(batch.ids, cursor) for batch, cursor in batch_pairs(records, load(dump(saved)), 3)]

    assert rest == [(parcels[2:], (Decimal("10.0001"), parcels[3]))]


def test_an_update_counts_records_that_had_the_value_before(parcels: list[UUID]) -> None:
    batch, _ = next(batch_pairs(QuerySetRecords(Parcel.objects.all()), None, 3))

    assert batch.update(code="sent") == 3
    assert batch.update(code="sent") == 3


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("read", ["read", "read_batch"])
def test_a_loop_that_would_not_come_further_is_refused(read: str, parcels: list[UUID]) -> None:
    seventh = models.ExpressionWrapper(models.F("weight") / 7, models.DecimalField())
    records = QuerySetRecords(Parcel.objects.annotate(share=seventh), "share")
    # SQLite computes with floats, and Django shows fifteen of their digits.
    saved = (Decimal("0.0476142857142857"), parcels[1])

    assert refusal_of(lambda: getattr(records, read)(saved, 2)) == (
        f"The record with the cursor {saved!r} comes after itself: the database compares share, id "
        "more exactly than it returns them. Use another field as cursor=, such as the primary "
        "key."
    )
