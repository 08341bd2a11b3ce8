"""Loops over Django's QuerySets, on every database."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.iteration.sources.querysets import QuerySetRecords
from geneva_drive.iteration.sources.records import batch_pairs, pairs
from geneva_drive.testing import drain
from tests.iteration.library import (
    BY_RATING,
    RATINGS,
    Author,
    cursors,
    ids,
    models,
    refusal_of,
)

pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize("chunk", [1, 2, 7, 100])
@pytest.mark.parametrize("done", range(8))
def test_from_every_saved_key_the_remaining_records_follow(chunk: int, done: int) -> None:
    cursor = [None, *RATINGS][done]

    assert ids(Author.objects.all(), cursor, chunk) == [1, 2, 3, 4, 5, 6, 7][done:]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("done", range(8))
def test_records_that_are_equal_in_the_cursor_field_are_told_apart_by_their_key(
    chunk: int, done: int
) -> None:
    cursor = [None, *BY_RATING][done]

    assert cursors(Author.objects.all(), "rating", cursor, chunk) == BY_RATING[done:]


@pytest.mark.parametrize("cursor", ["pk", ["id"], ("pk", "id")], ids=repr)
def test_the_primary_key_has_several_names(cursor: Any) -> None:
    assert cursors(Author.objects.filter(rating=1), cursor) == [2, 6]


def test_an_annotation_may_be_the_cursor() -> None:
    authors = Author.objects.annotate(written=models.Count("books"))

    assert cursors(authors, "written", (0, 6)) == [(0, 7), (2, 1), (2, 2), (2, 5)]


def test_a_record_that_a_join_repeats_is_given_once() -> None:
    assert ids(Author.objects.filter(books__isbn__gt=""), chunk=3) == [1, 2, 5]


def test_records_changed_or_deleted_by_the_body_do_not_shift_the_rest() -> None:
    walk = pairs(QuerySetRecords(Author.objects.filter(rating=3)), None, 2)
    seen = [next(walk)[1], next(walk)[1]]

    Author.objects.filter(id=1).update(rating=0)
    Author.objects.filter(id=5).delete()

    assert seen + [cursor for _, cursor in walk] == [1, 3, 7]


def test_batches_follow_each_other_by_their_last_key() -> None:
    records = QuerySetRecords(Author.objects.all(), "rating")

    walked = [(batch.ids, len(batch), cursor) for batch, cursor in batch_pairs(records, None, 3)]

    assert walked == [([2, 6, 4], 3, (2, 4)), ([1, 3, 5], 3, (3, 5)), ([7], 1, (3, 7))]


def test_a_batch_updates_exactly_its_records() -> None:
    walk = batch_pairs(QuerySetRecords(Author.objects.filter(rating=3)), None, 2)
    batch, _ = next(walk)

    Author.objects.filter(id=2).update(rating=3)
    assert batch.update(rating=8) == 2

    assert ids(Author.objects.filter(rating=8)) == [1, 3]
    assert [author.id for author in batch.where.order_by("id")] == [1, 3]
    assert [following.ids for following, _ in walk] == [[5, 7]]


def test_the_records_of_a_batch_are_read_in_order_when_they_are_asked_for() -> None:
    authors = Author.objects.filter(books__isbn__gt="")
    batch, cursor = next(batch_pairs(QuerySetRecords(authors, "rating"), None, 6))

    assert batch.ids == [2, 1, 5]
    assert cursor == (3, 5)
    assert [author.id for author in batch.rows] == [2, 1, 5]


def test_a_batch_takes_no_session() -> None:
    batch, _ = next(batch_pairs(QuerySetRecords(Author.objects.all()), None, 2))

    assert refusal_of(lambda: batch.update(object(), rating=1)) == (
        "A batch of a QuerySet is updated on Django's own connection and takes no session. Use "
        "transaction.atomic() instead."
    )


@pytest.mark.parametrize("kind", ["values", "values_list"])
def test_a_queryset_of_values_is_refused(kind: str) -> None:
    records = QuerySetRecords(getattr(Author.objects, kind)("id"))

    assert refusal_of(lambda: records.read(None, 2)) == (
        "A loop over records yields instances of Author, but the QuerySet has values() or "
        "values_list(). Remove it; only() reads fewer columns."
    )


def test_nulls_in_the_cursor_field_are_refused() -> None:
    records = QuerySetRecords(Author.objects.all(), "born_on")

    assert refusal_of(lambda: records.read(None, 2)) == (
        "There are records with NULL in the cursor field 'born_on', which the loop would miss. "
        "Exclude them with filter(born_on__isnull=False), or use another field as cursor=."
    )


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_step_loops_over_a_queryset_and_goes_on_where_it_stood(
    geneva: gd.Drive, partitions: int
) -> None:
    seen: list[int] = []

    class Royalties(gd.Workflow):
        @gd.resumable_step(max_iterations=2, partitions=partitions)
        def pay(self, it: gd.IterableStep) -> None:
            seen.extend(author.pk for author in it.iterate_over_records(Author.objects.all()))

    workflow = Royalties.create()

    drain()

    assert (sorted(seen), workflow.reload().state) == ([1, 2, 3, 4, 5, 6, 7], "finished")


def test_a_queryset_with_a_compound_cursor_is_not_divided(geneva: gd.Drive) -> None:
    class Royalties(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def pay(self, it: gd.IterableStep) -> None:
            list(it.iterate_over_records(Author.objects.all(), cursor="rating"))

    workflow = Royalties.create()

    drain()

    assert workflow.step_executions[0].error_message == (
        "A QuerySet is divided into partitions by one unique field, but the cursor has the fields "
        "rating, id. Use the primary key as cursor=."
    )
