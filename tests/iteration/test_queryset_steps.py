"""Steps that loop over QuerySets: where they resume, and what Django wrote meanwhile."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain
from tests.iteration.library import (
    BY_RATING,
    Author,
    atomic,
    close_old_connections,
    end_connection,
    ids,
)

pytestmark = pytest.mark.usefixtures("library")


def test_a_loop_that_died_goes_on_behind_its_last_checkpoint(geneva: gd.Drive) -> None:
    seen: list[tuple[int, int]] = []

    class Royalties(gd.Workflow):
        @gd.resumable_step(checkpoint_every=2)
        def pay(self, it: gd.IterableStep) -> None:
            authors = it.iterate_over_records(Author.objects.all(), cursor="rating", chunk=3)
            seen.extend((author.rating, author.id) for author in authors)

    workflow = Royalties.create()
    with crash_after(items=4):
        drain()
    drain()

    assert seen == [*BY_RATING[:4], *BY_RATING[2:]]
    assert workflow.reload().state == "finished"


def test_records_that_the_body_deletes_or_moves_are_given_once(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Royalties(gd.Workflow):
        @gd.resumable_step(max_iterations=2)
        def pay(self, it: gd.IterableStep) -> None:
            for author in it.iterate_over_records(Author.objects.all(), cursor="rating"):
                seen.append(author.id)
                Author.objects.filter(id=author.id, rating=3).delete()
                Author.objects.filter(id=author.id).update(rating=0)

    workflow = Royalties.create()
    drain()

    assert seen == [2, 6, 4, 1, 3, 5, 7]
    assert ids(Author.objects.filter(rating=0)) == [2, 4, 6]
    assert workflow.reload().state == "finished"


def test_a_batch_that_was_rolled_back_with_its_item_is_done_again(geneva: gd.Drive) -> None:
    tried: list[list[int]] = []
    updated: list[int] = []
    divisors = iter([1, 0, 1, 1])

    class Royalties(gd.Workflow):
        @gd.resumable_step(on_exception="reattempt")
        def pay(self, it: gd.IterableStep) -> None:
            for batch in it.iterate_over_record_batches(Author.objects.all(), batch_size=3):
                updated.append(Author.objects.filter(rating=8).count())
                tried.append(batch.ids)
                with atomic():
                    batch.update(rating=8)
                    divmod(1, next(divisors))

    workflow = Royalties.create()
    drain()

    assert tried == [[1, 2, 3], [4, 5, 6], [4, 5, 6], [7]]
    assert updated == [0, 3, 3, 6]
    assert workflow.reload().state == "finished"


def test_a_transaction_of_the_step_rolls_back_the_cursor_and_not_what_django_wrote(
    geneva: gd.Drive,
) -> None:
    seen: list[int] = []

    class Royalties(gd.Workflow):
        @gd.resumable_step(transaction=True, checkpoint_every=3)
        def pay(self, it: gd.IterableStep, session: Session) -> None:
            for author in it.iterate_over_records(Author.objects.all()):
                seen.append(author.id)
                Author.objects.filter(id=author.id).update(rating=8)

    workflow = Royalties.create()
    with crash_after(items=5):
        drain()

    assert ids(Author.objects.filter(rating=8)) == [1, 2, 3, 4, 5]
    drain()
    assert seen == [1, 2, 3, 4, 5, 4, 5, 6, 7]
    assert workflow.reload().state == "finished"


@pytest.mark.databases("postgresql", "mysql")
def test_a_hook_replaces_a_connection_of_djangos_that_the_server_ended(
    geneva: gd.Drive, database: str
) -> None:
    seen: list[int] = []

    class Royalties(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            close_old_connections()

        @gd.resumable_step
        def pay(self, it: gd.IterableStep) -> None:
            seen.extend(author.id for author in it.iterate_over_records(Author.objects.all()))

    workflow = Royalties.create()
    end_connection(database)
    drain()

    assert (seen, workflow.reload().state) == ([1, 2, 3, 4, 5, 6, 7], "finished")
