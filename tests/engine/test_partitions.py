"""Steps divided into shares that run side by side, and join."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step, speedrun
from tests.deploys import former_code
from tests.users_tables import make_empty
from tests.worker.watching import wait_until

_METADATA = MetaData()
LETTERS = Table(
    "test_letters",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("rank", Integer, nullable=False),
)


@pytest.fixture
def letters(geneva: gd.Drive) -> Table:
    """Thirty rows whose ranks have ties."""
    make_empty(geneva.engine, _METADATA)
    with geneva.engine.begin() as connection:
        connection.execute(insert(LETTERS), [{"id": n, "rank": n % 4} for n in range(1, 31)])
    return LETTERS


def _nodes(workflow: gd.WorkflowHandle[Any]) -> list[tuple[str, int, str, str | None]]:
    return [
        (e.node_id, e.attempt_number, e.state.value, e.outcome.value if e.outcome else None)
        for e in workflow.step_executions
    ]


def test_a_sequence_is_divided_into_shares_that_join(geneva: gd.Drive) -> None:
    seen: list[int] = []
    order: list[str] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(10)))

        @gd.step
        def close(self) -> None:
            order.append(f"closed after {len(seen)}")

    workflow = Import.create()

    drain()

    assert (sorted(seen), order) == (list(range(10)), ["closed after 10"])
    assert [(e.node_id, e.completed_iterations) for e in workflow.step_executions] == [
        ("rows", 0),
        ("rows[1]", 3),
        ("rows[2]", 3),
        ("rows[3]", 4),
        ("close", 0),
    ]
    assert workflow.reload().state == "finished"
    assert workflow.has_passed("rows")


@pytest.mark.parametrize("cursor", ["id", "rank"])
def test_records_are_divided_by_their_keys_ties_included(
    geneva: gd.Drive, letters: Table, cursor: str
) -> None:
    seen: list[int] = []

    class Mailing(gd.Workflow):
        @gd.resumable_step(partitions=4, max_iterations=3)
        def letters(self, it: gd.IterableStep) -> None:
            rows = it.iterate_over_records(select(LETTERS), cursor=cursor, chunk=2)
            seen.extend(row.id for row in rows)

    workflow = Mailing.create()

    drain()

    assert Counter(seen) == Counter(range(1, 31))
    assert [e.completed_iterations for e in workflow.step_executions] == [0, 7, 7, 7, 9]


def test_batches_of_records_are_divided_too(geneva: gd.Drive, letters: Table) -> None:
    seen: list[int] = []

    class Mailing(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def letters(self, it: gd.IterableStep) -> None:
            for batch in it.iterate_over_record_batches(select(LETTERS), batch_size=4):
                seen.extend(batch.ids)

    Mailing.create()

    drain()

    assert Counter(seen) == Counter(range(1, 31))


@pytest.mark.parametrize(("items", "nodes"), [(0, ["rows[1]"]), (2, ["rows[1]", "rows[2]"])])
def test_there_are_no_more_shares_than_items(
    geneva: gd.Drive, items: int, nodes: list[str]
) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=4)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(items)))

    workflow = Import.create()

    drain()

    assert sorted(seen) == list(range(items))
    assert [e.node_id for e in workflow.step_executions] == ["rows", *nodes]
    assert workflow.reload().state == "finished"


def test_shares_run_at_the_same_time(geneva: gd.Drive) -> None:
    together = threading.Barrier(3, timeout=30)

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(3)):
                together.wait()

    workflow = Import.create()

    with geneva.worker(concurrency=3):
        wait_until(lambda: workflow.reload().state == "finished", "all shares have met")

    assert not together.broken
    assert [e.completed_iterations for e in workflow.step_executions] == [0, 1, 1, 1]


def test_a_worker_that_dies_loses_nothing_of_its_share(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(8)))

    workflow = Import.create()
    perform_next_step(workflow)
    with crash_after(items=3):
        drain()
    expire_leases(geneva)

    drain()

    assert Counter(seen) == Counter(range(8)) + Counter([2])
    assert _nodes(workflow) == [
        ("rows", 1, "completed", "success"),
        ("rows[1]", 1, "failed", "recovered"),
        ("rows[2]", 1, "completed", "success"),
        ("rows[1]", 2, "completed", "success"),
    ]


def test_a_share_that_fails_holds_the_others_until_it_is_resumed(geneva: gd.Drive) -> None:
    seen: list[int] = []
    is_broken = True

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(9)):
                if number == 1 and is_broken:
                    raise ValueError("no such row")
                seen.append(number)

        @gd.step
        def close(self) -> None: ...

    workflow = Import.create()
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "rows")
    assert workflow.paused_reason == "builtins.ValueError: no such row"
    assert _nodes(workflow)[1:] == [
        ("rows[1]", 1, "failed", "paused_by_exception"),
        ("rows[2]", 1, "scheduled", None),
        ("rows[3]", 1, "scheduled", None),
    ]

    is_broken = False
    workflow.resume()
    drain()

    assert Counter(seen) == Counter(range(9))
    assert workflow.reload().state == "finished"
    assert _nodes(workflow)[4:] == [
        ("rows[1]", 2, "completed", "success"),
        ("close", 1, "completed", "success"),
    ]


def test_of_shares_that_failed_only_those_are_reattempted(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2, on_exception="reattempt", max_reattempts=2)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(4)):
                if number == 3 and self.attempt == 1:
                    raise ValueError("not yet")
                seen.append(number)

    workflow = Import.create()

    drain()

    assert Counter(seen) == Counter(range(4))
    assert _nodes(workflow)[1:] == [
        ("rows[1]", 1, "completed", "success"),
        ("rows[2]", 1, "failed", "reattempted_by_exception"),
        ("rows[2]", 2, "completed", "success"),
    ]


def _running_shares(
    count: int,
) -> tuple[Any, threading.Event, list[int], list[int]]:
    """Define a step whose shares each do one item, and then wait in their second."""
    go_on, seen, waiting = threading.Event(), list[int](), list[int]()

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=count)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(4 * count)):
                if number % 4 == 1:
                    waiting.append(number)
                    assert go_on.wait(30)
                seen.append(number)

        @gd.step
        def close(self) -> None: ...

    return Import, go_on, waiting, seen


def test_a_pause_stops_every_share_at_its_next_checkpoint(geneva: gd.Drive) -> None:
    workflow_class, go_on, waiting, seen = _running_shares(2)
    workflow = workflow_class.create()

    with geneva.worker(concurrency=2):
        wait_until(lambda: sorted(waiting) == [1, 5], "each share has done an item")
        workflow.pause(reason="stock taking")
        go_on.set()
        wait_until(
            lambda: {e.state for e in workflow.step_executions[1:]} == {"suspended"},
            "both shares have stopped",
        )

    assert (workflow.reload().state, workflow.paused_reason) == ("paused", "stock taking")
    assert [e.metadata for e in workflow.step_executions[1:]] == [{"interrupted_by": "paused"}] * 2
    assert sorted(seen) == [0, 1, 4, 5]
    workflow.resume()
    drain()
    assert (Counter(seen), workflow.reload().state) == (Counter(range(8)), "finished")


def test_a_cancel_ends_every_share_at_its_next_checkpoint(geneva: gd.Drive) -> None:
    workflow_class, go_on, waiting, seen = _running_shares(3)
    workflow = workflow_class.create()

    with geneva.worker(concurrency=2):
        wait_until(lambda: len(waiting) == 2, "two shares have done an item")
        workflow.cancel()
        go_on.set()
        wait_until(
            lambda: {e.state for e in workflow.step_executions[1:]} == {"canceled"},
            "all shares are canceled",
        )

    assert workflow.reload().state == "canceled"
    assert {e.outcome for e in workflow.step_executions[1:]} == {"canceled_by_operator"}
    # The third share may have been held ready, and then does the one item of every run.
    assert {0, 1, 4, 5} <= set(seen) <= {0, 1, 4, 5, 8}


@pytest.mark.parametrize(
    ("verb", "state", "outcome"),
    [
        ("cancel", "canceled", "canceled_by_flow_control"),
        ("finish", "finished", "canceled_by_flow_control"),
    ],
)
def test_a_share_that_ends_the_workflow_cancels_those_that_wait(
    geneva: gd.Drive, verb: str, state: str, outcome: str
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(9)):
                getattr(self, verb)()

    workflow = Import.create()

    drain()

    assert workflow.reload().state == state
    assert [n[2:] for n in _nodes(workflow)[2:]] == [("canceled", outcome)] * 2


def test_skipping_passes_over_what_is_left_of_all_shares(geneva: gd.Drive) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(9)):
                if number == 4:
                    raise ValueError("no such row")

        @gd.step
        def close(self) -> None: ...

    workflow = Import.create()
    drain()

    workflow.skip()
    drain()

    assert workflow.reload().state == "finished"
    assert _nodes(workflow)[1:] == [
        ("rows[1]", 1, "completed", "success"),
        ("rows[2]", 1, "failed", "paused_by_exception"),
        ("rows[3]", 1, "skipped", "skipped_by_operator"),
        ("rows[2]", 2, "skipped", "skipped_by_operator"),
        ("close", 1, "completed", "success"),
    ]


def test_a_rewind_divides_anew_and_the_former_shares_no_longer_count(geneva: gd.Drive) -> None:
    seen: list[int] = []
    items = 9

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(items)):
                if number == 8:
                    raise ValueError("no such row")
                seen.append(number)

    workflow = Import.create()
    drain()
    assert workflow.reload().state == "paused"
    items = 2

    workflow.rewind("rows")
    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert _nodes(workflow)[4:] == [
        ("rows", 2, "completed", "success"),
        ("rows[1]", 2, "completed", "success"),
        ("rows[2]", 2, "completed", "success"),
    ]
    assert workflow.has_passed("rows")


def test_shares_in_transactions_are_done_exactly_once(geneva: gd.Drive, letters: Table) -> None:
    class Mailing(gd.Workflow):
        @gd.resumable_step(partitions=3, transaction=True, checkpoint_every=4)
        def letters(self, it: gd.IterableStep, session: Any) -> None:
            for row in it.iterate_over_records(select(LETTERS)):
                session.execute(
                    LETTERS.update().where(LETTERS.c.id == row.id).values(rank=LETTERS.c.rank + 100)
                )

    workflow = Mailing.create()
    perform_next_step(workflow)
    with crash_after(items=6):
        drain()
    expire_leases(geneva)

    drain()

    with geneva.engine.connect() as connection:
        ranks = connection.scalars(select(LETTERS.c.rank)).all()
    assert Counter(rank // 100 for rank in ranks) == {1: 30}
    assert workflow.reload().state == "finished"


def _refused(loop: Callable[[Any, gd.IterableStep], object]) -> str | None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def rows(self, it: gd.IterableStep) -> None:
            loop(self, it)

    workflow = Import.create()
    speedrun(workflow)
    return workflow.step_executions[-1].error_message


@pytest.mark.databases("sqlite")
def test_what_cannot_be_divided_is_refused(geneva: gd.Drive) -> None:
    assert _refused(lambda self, it: list(it.iterate_over(iter([1])))) == (
        "partitions=... divides records and sequences, not a list_iterator. Make a list of it, or "
        "remove partitions."
    )
    assert _refused(lambda self, it: it.set(1)) == (
        "Step 'rows' has partitions=2, but only records and sequences can be divided, not a loop "
        "of your own. Remove partitions."
    )
    assert _refused(lambda self, it: list(it.iterate_over_pages(lambda token: ([], None)))) == (
        "Step 'rows' has partitions=2, but only records and sequences can be divided, not a loop "
        "over pages. Remove partitions."
    )


def _failing_at(number: int, **options: Any) -> type[gd.Workflow[Any]]:
    """Define a step of three shares over nine items, one of which fails at its first attempt."""

    class Import(gd.Workflow):
        done: list[int] = []  # noqa: RUF012 - shared by its executions

        @gd.resumable_step(partitions=3, **options)
        def rows(self, it: gd.IterableStep) -> None:
            for item in it.iterate_over(range(9)):
                if item == number and self.attempt == 1:
                    raise ValueError("no such row")
                self.done.append(item)

        @gd.step
        def close(self) -> None: ...

    return Import


@pytest.mark.parametrize(
    "go_on",
    [lambda w: w.resume(), lambda w: w.resume_at("rows"), lambda w: w.reattempt("rows")],
    ids=["resume", "resume_at", "reattempt"],
)
def test_whatever_lets_a_divided_step_go_on_loses_no_share(
    geneva: gd.Drive, go_on: Callable[[Any], object]
) -> None:
    workflow_class: Any = _failing_at(1)
    workflow = workflow_class.create()
    drain()
    assert workflow.reload().state == "paused"

    go_on(workflow)
    drain()

    assert Counter(workflow_class.done) == Counter(range(9))
    assert workflow.reload().state == "finished"


def test_a_pause_that_is_taken_back_lets_the_waiting_shares_go(geneva: gd.Drive) -> None:
    workflow_class, go_on, waiting, seen = _running_shares(3)
    workflow = workflow_class.create()

    with geneva.worker(concurrency=1):
        wait_until(lambda: len(waiting) == 1, "a share has done an item")
        workflow.pause()
        workflow.resume()
        go_on.set()
        wait_until(lambda: workflow.reload().state == "finished", "all shares have ended")

    assert Counter(seen) == Counter(range(12))


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ("raise", "paused_by_exception"),
        ("cancel", "canceled_by_flow_control"),
    ],
)
def test_a_share_that_ends_badly_while_a_cancel_is_wished_for_is_recorded(
    geneva: gd.Drive, end: str, outcome: str
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(9)):
                self.handle.cancel()
                if end == "cancel":
                    self.cancel()
                raise ValueError("no such row")

    workflow = Import.create()

    drain()

    assert workflow.reload().state == "canceled"
    assert [n[2:] for n in _nodes(workflow)[1:]] == [
        ("failed" if end == "raise" else "canceled", outcome),
        ("canceled", "canceled_by_operator"),
        ("canceled", "canceled_by_operator"),
    ]


def test_shares_join_across_a_renaming(geneva: gd.Drive) -> None:
    seen: list[int] = []
    with former_code():

        class Former(gd.Workflow):
            type_name = "Import"

            @gd.resumable_step(partitions=3)
            def rows(self, it: gd.IterableStep) -> None:
                for number in it.iterate_over(range(9)):
                    if number == 1:
                        raise ValueError("no such row")
                    seen.append(number)

        workflow_id = Former.create().id
        drain()

    class Import(gd.Workflow):
        @gd.resumable_step(partitions=3, renamed_from="rows")
        def lines(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(9)))

        @gd.step
        def close(self) -> None:
            seen.append(-1)

    workflow = Import.find(workflow_id)
    assert workflow.state == "paused"

    workflow.resume()
    drain()

    assert (Counter(seen), seen[-1]) == (Counter([-1, *range(9)]), -1)
    assert workflow.reload().has_passed("lines")


@pytest.mark.databases("sqlite")
def test_partitions_keep_no_result(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.StepConfigurationError, match="keep_result needs a single body"):
        _failing_at(1, keep_result=True)
