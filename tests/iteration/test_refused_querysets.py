"""QuerySets that a loop cannot resume are refused before anything is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from geneva_drive.iteration.sources import async_sources, sequences
from geneva_drive.iteration.sources.querysets import QuerySetRecords, is_queryset
from tests.iteration.library import Author, Book, models, refusal_of


def test_a_queryset_is_known_from_other_things() -> None:
    assert is_queryset(Author.objects.all())
    assert not is_queryset([1, 2])


@pytest.mark.parametrize(
    ("narrow", "part"),
    [
        (lambda authors: authors[:3], "a slice"),
        (lambda authors: authors.order_by("name"), "an order_by()"),
        (lambda authors: authors.reverse(), "a reverse()"),
        (lambda authors: authors.union(authors), "a union(), intersection() or difference()"),
        (lambda authors: authors.distinct("name"), "a distinct() of single fields"),
        (
            lambda authors: authors.values("rating").annotate(models.Count("id")),
            "values() with aggregates",
        ),
    ],
    ids=["slice", "order", "reverse", "union", "distinct", "groups"],
)
def test_a_queryset_with_an_order_or_extent_of_its_own_is_refused(
    narrow: Callable[[Any], Any], part: str
) -> None:
    assert refusal_of(lambda: QuerySetRecords(narrow(Author.objects.all()))) == (
        f"The QuerySet has {part}, but a resumable loop reads records in the order of its cursor. "
        f"Remove it: narrow with filter(), and name the order as cursor=."
    )


def test_an_unknown_cursor_field_is_refused() -> None:
    assert refusal_of(lambda: QuerySetRecords(Book.objects.all())) == (
        "Book has no field 'id' to use as the cursor. Pass one of its fields as cursor=; its "
        "primary key is isbn."
    )


@pytest.mark.parametrize("saved", [1, (1,), (1, 2, 3), (1, None)], ids=repr)
def test_a_cursor_of_another_shape_is_refused(saved: Any) -> None:
    records = QuerySetRecords(Author.objects.all(), "rating")

    assert refusal_of(lambda: records.read(saved, 2)) == (
        f"The saved cursor {saved!r} does not fit this loop, whose cursor has the fields rating, "
        "id. It was saved by another loop. Rewind the step with `geneva rewind`, or restore that "
        "loop."
    )


def test_a_window_function_is_refused_as_the_cursor() -> None:
    place = models.Window(models.Count("id"), order_by="name")

    assert refusal_of(lambda: QuerySetRecords(Author.objects.annotate(place=place), "place")) == (
        "'place' is a window function, whose values change when a loop resumes, because it sees "
        "only the records that are left. Use a field as cursor=."
    )


def test_a_cursor_field_with_a_direction_is_refused() -> None:
    assert refusal_of(lambda: QuerySetRecords(Author.objects.all(), "-id")) == (
        "The cursor '-id' names a direction, but a loop reads its records in ascending order; "
        "descending is not supported. Pass the field alone as cursor=."
    )


@pytest.mark.parametrize(
    "loop",
    [lambda given: sequences.pairs(given, None), lambda given: sequences.split(given, None, 2)],
    ids=["items", "partitions"],
)
def test_a_queryset_whose_records_would_be_counted_is_refused(
    loop: Callable[[Any], object],
) -> None:
    assert refusal_of(lambda: loop(Author.objects.all())) == (
        "iterate_over() does not read from the database, and got a QuerySet. Use "
        "it.iterate_over_records(...)."
    )


def test_an_async_loop_refuses_such_a_queryset_too() -> None:
    async def walk() -> None:
        async for _ in async_sources.pairs(Author.objects.all(), None):
            pass

    assert refusal_of(lambda: asyncio.run(walk())) == (
        "iterate_over() does not read from the database, and got a QuerySet. Use "
        "it.iterate_over_records(...)."
    )
