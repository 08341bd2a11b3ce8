"""State is written only where it still is what the writer saw."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, select

import geneva_drive as gd
from geneva_drive.states import StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.storage.rows import Rows

RUNNING = {"state": "in_progress", "claimable": False, "claim_token": "t1", "worker_id": "w1"}
ENDED = {"state": "completed", "outcome": "success", "claim_token": None}


def get(drive: gd.Drive, execution_id: Any) -> ExecutionRecord:
    with drive.store.reading() as connection:
        record = drive.store.executions.get(connection, execution_id)
    assert record is not None
    return record


def move(drive: gd.Drive, moving: list[ExecutionRecord], values: dict[str, Any]) -> int:
    store = drive.store
    return store.write(lambda connection: store.executions.move(connection, moving, values))


def test_executions_that_are_as_they_were_seen_are_moved(geneva: gd.Drive, rows: Rows) -> None:
    moving = [get(geneva, rows.due(**RUNNING)) for _ in range(3)]
    bystander = rows.due(**RUNNING)

    assert move(geneva, moving, ENDED) == 3

    assert [get(geneva, each.id).state for each in moving] == ["completed"] * 3
    assert get(geneva, bystander).state == "in_progress"


@pytest.mark.parametrize(
    "seen",
    [{"claim_token": "t2"}, {"claim_token": None}, {"state": StepState.SCHEDULED}],
    ids=str,
)
def test_an_execution_that_changed_meanwhile_is_not_moved(
    seen: dict[str, Any], geneva: gd.Drive, rows: Rows
) -> None:
    record = get(geneva, rows.due(**RUNNING))

    assert move(geneva, [record._replace(**seen)], ENDED) == 0

    assert get(geneva, record.id) == record


def test_of_a_group_only_those_that_did_not_change_are_moved(geneva: gd.Drive, rows: Rows) -> None:
    kept, lost = get(geneva, rows.due(**RUNNING)), get(geneva, rows.due(**RUNNING))
    rows.change(rows.tables.step_executions, lost.id, claim_token="t2")

    assert move(geneva, [kept, lost], ENDED) == 1

    assert get(geneva, kept.id).state == "completed"
    assert get(geneva, lost.id).state == "in_progress"


def test_claimed_and_free_executions_are_moved_together(geneva: gd.Drive, rows: Rows) -> None:
    moving = [get(geneva, rows.due(**RUNNING)), get(geneva, rows.due())]
    values = {"state": "canceled", "claimable": False, "claim_token": None}

    assert move(geneva, moving, values) == 2


# MySQL would count changed rows; SQLAlchemy asks the driver for matched ones.
def test_a_move_that_changes_no_value_still_counts_its_rows(geneva: gd.Drive, rows: Rows) -> None:
    store = geneva.store
    record = get(geneva, rows.due())
    workflow_id = record.workflow_id
    same = {"state": "ready"}

    moved = store.write(
        lambda connection: store.workflows.move(
            connection, [workflow_id], WorkflowState.READY, same
        )
    )

    assert moved == 1
    assert move(geneva, [record], {"state": "scheduled", "claimable": True}) == 1


def test_a_workflow_in_another_state_is_not_moved(geneva: gd.Drive, rows: Rows) -> None:
    store = geneva.store
    ready, paused = rows.workflow(), rows.workflow(state="paused")

    moved = store.write(
        lambda connection: store.workflows.move(
            connection, [ready, paused], WorkflowState.READY, {"state": "finished"}
        )
    )

    assert moved == 1
    assert rows.read(rows.tables.workflows, ready)["state"] == "finished"
    assert rows.read(rows.tables.workflows, paused)["state"] == "paused"


def test_the_last_attempt_of_each_node_is_found(geneva: gd.Drive, rows: Rows) -> None:
    one, two = rows.workflow(), rows.workflow()
    rows.execution(one, node_id="a", state="failed")
    rows.execution(one, node_id="a", state="failed", attempt_number=2)
    rows.execution(one, node_id="b", state="failed")
    rows.execution(one, node_id="A", state="failed", attempt_number=9)
    rows.execution(two, node_id="a", state="failed", attempt_number=5)

    with geneva.store.reading() as connection:
        found = geneva.store.attempts.last_numbers(
            connection, [(one, "a"), (one, "b"), (two, "a"), (two, "b")]
        )

    assert found == {(one, "a"): 2, (one, "b"): 1, (two, "a"): 5}


def test_workflows_are_locked_in_the_order_of_their_ids(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.workflow() for _ in range(3)]
    store = geneva.store

    locked = store.write(
        lambda connection: store.workflows.lock(connection, [made[2], made[0], made[1], made[0]])
    )

    assert list(locked) == made


def test_two_that_lock_the_same_workflows_in_opposite_order_both_succeed_at_once(
    geneva: gd.Drive, rows: Rows
) -> None:
    store = geneva.store
    made = [rows.workflow() for _ in range(20)]
    start = threading.Barrier(2, timeout=30)
    calls: list[str] = []

    def lock_many(name: str, ids: list[Any]) -> None:
        def work(connection: Connection) -> None:
            calls.append(name)
            store.workflows.lock(connection, ids)
            store.workflows.move(connection, ids, WorkflowState.READY, {"queue": name})

        for _ in range(10):
            start.wait()
            store.write(work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lock_many, ["up", "down"], [made, made[::-1]]))

    assert sorted(calls) == ["down"] * 10 + ["up"] * 10


@pytest.mark.databases("postgresql", "mysql")
def test_a_locked_workflow_makes_others_wait(geneva: gd.Drive, rows: Rows) -> None:
    store, workflow_id = geneva.store, rows.workflow()
    table = rows.tables.workflows
    free = select(table.c.id).with_for_update(skip_locked=True)

    with store.transaction() as connection:
        store.workflows.lock(connection, [workflow_id])
        with geneva.engine.begin() as other:
            while_locked = other.scalars(free).all()

    with geneva.engine.begin() as other:
        assert (while_locked, other.scalars(free).all()) == ([], [workflow_id])
