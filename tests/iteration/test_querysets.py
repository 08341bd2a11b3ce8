"""Loops over Django's QuerySets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.querysets import QuerySetRecords, is_queryset
from geneva_drive.iteration.records import batch_pairs, pairs
from geneva_drive.testing import drain

# Asked for this way, they are untyped, and these tests are left out where Django is not installed.
django = pytest.importorskip("django")
conf = pytest.importorskip("django.conf")
if not conf.settings.configured:
    conf.settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "given by a test"}},
        INSTALLED_APPS=["tests.iteration"],
        USE_TZ=True,
    )
    django.setup()
models = pytest.importorskip("django.db.models")
connection = pytest.importorskip("django.db").connection


class Author(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    name = models.CharField(max_length=50)
    rating = models.IntegerField()
    born_on = models.DateField(null=True)

    class Meta:
        app_label = "iteration"
        ordering = ["name"]  # noqa: RUF012 - as Django's models are written


class Book(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    isbn = models.CharField(max_length=20, primary_key=True)

    class Meta:
        app_label = "iteration"


RATINGS = {1: 3, 2: 1, 3: 3, 4: 2, 5: 3, 6: 1, 7: 3}
BY_RATING = [(1, 2), (1, 6), (2, 4), (3, 1), (3, 3), (3, 5), (3, 7)]


@pytest.fixture(autouse=True)
def _library(tmp_path: Path) -> Any:
    connection.settings_dict["NAME"] = str(tmp_path / "library.db")
    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)
    Author.objects.bulk_create(
        Author(id=key, name=f"Author {9 - key}", rating=rating) for key, rating in RATINGS.items()
    )
    Book.objects.bulk_create(
        Book(isbn=f"{key}-{n}", author_id=key) for key in (1, 2, 5) for n in (1, 2)
    )
    yield
    connection.close()


def ids(queryset: Any, after: Any = None, chunk: int = 2) -> list[Any]:
    return [item.pk for item, _ in pairs(QuerySetRecords(queryset), after, chunk)]


def cursors(queryset: Any, cursor: Any, after: Any = None, chunk: int = 2) -> list[Any]:
    return [cursor for _, cursor in pairs(QuerySetRecords(queryset, cursor), after, chunk)]


def refusal_of(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as refusal:
        act()
    return str(refusal.value)


def test_a_queryset_is_known_from_other_things() -> None:
    assert is_queryset(Author.objects.all())
    assert not is_queryset([1, 2])


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

    assert refusal_of(lambda: batch.update(connection, rating=1)) == (
        "A batch of a QuerySet is updated on Django's own connection and takes no session. Put it "
        "into transaction.atomic() instead."
    )


@pytest.mark.parametrize(
    ("narrow", "part"),
    [
        (lambda authors: authors[:3], "a slice"),
        (lambda authors: authors.order_by("name"), "an order_by()"),
        (lambda authors: authors.union(authors), "a union(), intersection() or difference()"),
        (lambda authors: authors.distinct("name"), "a distinct() of single fields"),
        (
            lambda authors: authors.values("rating").annotate(models.Count("id")),
            "values() with aggregates",
        ),
    ],
    ids=["slice", "order", "union", "distinct", "groups"],
)
def test_a_queryset_with_an_order_or_extent_of_its_own_is_refused(
    narrow: Callable[[Any], Any], part: str
) -> None:
    assert refusal_of(lambda: QuerySetRecords(narrow(Author.objects.all()))) == (
        f"The QuerySet has {part}, but a resumable loop reads records in the order of its cursor. "
        f"Remove it: narrow with filter(), and name the order as cursor=."
    )


@pytest.mark.parametrize("kind", ["values", "values_list"])
def test_a_queryset_of_values_is_refused(kind: str) -> None:
    records = QuerySetRecords(getattr(Author.objects, kind)("id"))

    assert refusal_of(lambda: records.read(None, 2)) == (
        "A loop over records gives instances of Author, but the QuerySet has values() or "
        "values_list(). Remove it; only() reads fewer columns."
    )


def test_nulls_in_the_cursor_field_are_refused() -> None:
    records = QuerySetRecords(Author.objects.all(), "born_on")

    assert refusal_of(lambda: records.read(None, 2)) == (
        "There are records with NULL in the cursor field 'born_on', which would be left out "
        "silently. Leave them out with filter(born_on__isnull=False), or take another field as "
        "cursor=."
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
        f"The saved cursor {saved!r} does not fit this loop, whose cursor is made of rating, id. "
        f"It was saved by another loop. Rewind the step with `geneva rewind`, or put that loop "
        f"back."
    )


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
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


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_queryset_with_a_compound_cursor_is_not_divided(geneva: gd.Drive) -> None:
    class Royalties(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def pay(self, it: gd.IterableStep) -> None:
            list(it.iterate_over_records(Author.objects.all(), cursor="rating"))

    workflow = Royalties.create()

    drain()

    assert workflow.step_executions[0].error_message == (
        "A QuerySet is divided into partitions by one unique field, and the cursor is made of "
        "rating, id. Use the primary key as cursor=."
    )
