"""A claim takes what is due, the most urgent first, and takes nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.engine.commit.rows import claim_values
from geneva_drive.storage.dialects.claim_request import ClaimRequest
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.storage.rows import NOW, Rows


def wish(
    *,
    types: Sequence[str] = ("Signup",),
    queues: Sequence[str] | None = None,
    limit: int = 100,
    worker_id: str = "w1",
    token: str = "t1",
    named: Any = None,
) -> ClaimRequest:
    return ClaimRequest(
        worker_id=worker_id,
        claim_token=token,
        types=types,
        queues=None if queues is None else dict.fromkeys(queues, limit),
        limit=limit,
        now=NOW,
        named=named,
    )


def claim(drive: gd.Drive, wanted: ClaimRequest | None = None) -> list[ExecutionRecord]:
    store = drive.store
    taken = store.write_at_once(
        lambda connection: store.database.dialect.claim(connection, store.tables, wanted or wish())
    )
    return [execution for execution, _ in taken]


def ids(records: list[ExecutionRecord]) -> list[Any]:
    return [record.id for record in records]


def test_the_most_urgent_is_claimed_first_then_the_oldest(geneva: gd.Drive, rows: Rows) -> None:
    calm, first, urgent, second = (rows.due(priority=priority) for priority in (-1, 0, 5, 0))

    claimed = claim(geneva)

    assert ids(claimed) == [urgent, first, second, calm]


def test_a_limited_claim_takes_the_most_urgent(geneva: gd.Drive, rows: Rows) -> None:
    calm, urgent, also_urgent = (rows.due(priority=priority) for priority in (0, 5, 5))

    claims = [ids(claim(geneva, wish(limit=2))) for _ in range(2)]

    assert claims == [[urgent, also_urgent], [calm]]


def test_no_more_are_claimed_than_the_limit(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due() for _ in range(5)]

    claims = [ids(claim(geneva, wish(limit=2))) for _ in range(4)]

    assert claims == [made[:2], made[2:4], made[4:], []]


def test_a_claim_writes_who_holds_the_execution_and_since_when(
    geneva: gd.Drive, rows: Rows
) -> None:
    execution_id = rows.due()

    [claimed] = claim(geneva, wish(worker_id="w7", token="t7"))

    row = rows.read(rows.tables.step_executions, execution_id)
    assert (row["state"], row["worker_id"], row["claim_token"], row["started_at"]) == (
        "in_progress", "w7", "t7", NOW,
    )  # fmt: skip
    assert row["claimable"] is False
    assert (claimed.state, claimed.worker_id, claimed.claim_token, claimed.started_at) == (
        "in_progress", "w7", "t7", NOW,
    )  # fmt: skip


def test_only_types_that_are_served_are_claimed(geneva: gd.Drive, rows: Rows) -> None:
    signup, _, other = rows.due(), rows.due(type="signup"), rows.due(type="Other")

    claimed = claim(geneva, wish(types=["Signup", "Other"]))

    assert ids(claimed) == [signup, other]


def test_only_queues_that_are_served_are_claimed(geneva: gd.Drive, rows: Rows) -> None:
    mail, _, _ = rows.due(queue="mail"), rows.due(queue="Mail"), rows.due(queue="default")

    claimed = claim(geneva, wish(queues=["mail"]))

    assert ids(claimed) == [mail]


@pytest.mark.parametrize(
    "changes",
    [{}, {"stop": "pause"}, {"wakes_at": NOW}, {"state": "completed"}],
    ids=str,
)  # fmt: skip
def test_what_is_held_asleep_or_over_is_not_claimed(
    changes: dict[str, Any], geneva: gd.Drive, rows: Rows
) -> None:
    rows.due(claimable=False, **changes)

    assert claim(geneva) == []


def test_a_suspended_execution_is_claimed_again(geneva: gd.Drive, rows: Rows) -> None:
    execution_id = rows.due(state="suspended")

    assert ids(claim(geneva)) == [execution_id]


@pytest.mark.databases("postgresql", "mysql")
def test_rows_that_another_transaction_has_locked_are_passed_over(
    geneva: gd.Drive, rows: Rows
) -> None:
    locked, free, also_free = rows.due(), rows.due(), rows.due()
    table = rows.tables.step_executions

    with geneva.engine.begin() as other:
        other.execute(select(table.c.id).where(table.c.id == locked).with_for_update())
        claimed = claim(geneva, wish(limit=2))

    assert ids(claimed) == [free, also_free]
    assert ids(claim(geneva)) == [locked]


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no row locks
def test_a_claim_locks_no_more_than_it_takes(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due() for _ in range(6)]
    store = geneva.store

    with geneva.engine.connect() as connection:
        taken = store.database.dialect.claim(connection, store.tables, wish(limit=2))
        by_others = claim(geneva, wish(token="t2"))
        connection.commit()

    assert [execution.id for execution, _ in taken] == made[:2]
    assert ids(by_others) == made[2:]


def test_two_threads_claim_everything_once(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due() for _ in range(60)]
    start = threading.Barrier(2, timeout=30)

    def claim_all(token: str) -> list[Any]:
        start.wait()
        taken: list[Any] = []
        while claimed := claim(geneva, wish(limit=3, worker_id=token, token=token)):
            taken += ids(claimed)
        return taken

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(claim_all, ["t1", "t2"])

    assert sorted(first + second) == made


def test_a_claim_that_is_rolled_back_leaves_the_execution_to_others(
    geneva: gd.Drive, rows: Rows
) -> None:
    execution_id = rows.due()
    store = geneva.store

    with geneva.engine.connect() as connection:
        [(taken, _)] = store.database.dialect.claim(connection, store.tables, wish(limit=1))
        connection.rollback()

    assert taken.id == execution_id
    assert ids(claim(geneva)) == [execution_id]


def claim_one(drive: gd.Drive, execution_id: Any) -> ExecutionRecord | None:
    store, values = drive.store, claim_values("w1", "t1", NOW)
    return store.write(
        lambda connection: store.executions.claim_one(connection, execution_id, values)
    )


def test_one_execution_is_claimed_ahead_of_its_time(geneva: gd.Drive, rows: Rows) -> None:
    execution_id = rows.due(claimable=False, wakes_at=NOW)
    rows.due()

    claimed = claim_one(geneva, execution_id)

    assert claimed is not None
    assert (claimed.id, claimed.state, claimed.claim_token) == (execution_id, "in_progress", "t1")
    assert rows.read(rows.tables.step_executions, execution_id)["wakes_at"] is None


@pytest.mark.parametrize(
    "changes",
    [{"stop": "pause"}, {"state": "completed"}, {"state": "in_progress", "claim_token": "t0",
     "worker_id": "w0"}, {"state": "waiting"}],
    ids=str,
)  # fmt: skip
def test_one_execution_that_is_held_taken_or_over_is_not_claimed(
    changes: dict[str, Any], geneva: gd.Drive, rows: Rows
) -> None:
    execution_id = rows.due(claimable=False, **changes)

    assert claim_one(geneva, execution_id) is None


@pytest.mark.parametrize(
    ("types", "queues", "expected"),
    [
        (["Signup"], None, 3),
        (["Signup"], ["mail"], 2),
        (["Signup", "Other"], None, 9),
        (["Nobody"], None, None),
        (["Signup"], ["nowhere"], None),
    ],
    ids=str,
)
def test_the_most_urgent_priority_is_that_of_what_is_served(
    types: list[str], queues: list[str] | None, expected: int | None, geneva: gd.Drive, rows: Rows
) -> None:
    rows.due(priority=3)
    rows.due(priority=2, queue="mail")
    rows.due(priority=9, type="Other")
    rows.due(priority=7, claimable=False)

    with geneva.store.reading() as connection:
        top = geneva.store.executions.top_priority(connection, types, queues)

    assert top == expected


@pytest.mark.databases("postgresql")
def test_a_claim_by_name_takes_that_one_alone(geneva: gd.Drive, rows: Rows) -> None:
    urgent, named = rows.due(priority=5), rows.due(queue="mail")

    claimed = claim(geneva, wish(named=named, queues=["default", "mail"], token="t7"))

    assert ids(claimed) == [named]
    assert (claimed[0].state, claimed[0].claim_token) == ("in_progress", "t7")
    assert rows.read(rows.tables.step_executions, urgent)["claimable"] is True
    assert claim(geneva, wish(named=named)) == []


@pytest.mark.databases("postgresql")
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"type": "Other"}, {}),
        ({"queue": "mail"}, {"queues": ["default"]}),
        ({"claimable": False, "wakes_at": NOW}, {}),
    ],
    ids=["another type", "another queue", "not due yet"],
)
def test_a_claim_by_name_takes_nothing_that_the_worker_does_not_serve(
    geneva: gd.Drive,
    rows: Rows,
    changes: dict[str, Any],
    wanted: dict[str, Any],
) -> None:
    named = rows.due(**changes)
    rows.due()

    assert claim(geneva, wish(named=named, **wanted)) == []


@pytest.mark.databases("postgresql")
def test_a_claim_by_name_waits_for_nobody(geneva: gd.Drive, rows: Rows) -> None:
    named = rows.due()
    table = rows.tables.step_executions
    with geneva.engine.begin() as another:
        another.execute(select(table.c.id).where(table.c.id == named).with_for_update())

        assert claim(geneva, wish(named=named)) == []

    assert ids(claim(geneva, wish(named=named))) == [named]
