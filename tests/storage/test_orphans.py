"""Ready workflows of which nothing is active are found portion by portion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.storage.schema.keys import new_uuid
from tests.storage.rows import NOW, Rows


def orphans(
    drive: gd.Drive, *, after: Any = None, portion: int = 100, type_name: str = "Signup"
) -> tuple[Sequence[Any], Any]:
    with drive.store.reading() as connection:
        return drive.store.workflows.orphans(connection, type_name, after=after, portion=portion)


@pytest.mark.parametrize(
    "active",
    [
        pytest.param({"claimable": True}, id="due"),
        pytest.param({"wakes_at": NOW}, id="asleep"),
        pytest.param({"stop": "pause"}, id="held"),
        pytest.param(
            {"state": "in_progress", "worker_id": "w", "claim_token": "t"}, id="in-progress"
        ),
        pytest.param({"state": "suspended"}, id="suspended"),
        pytest.param({"state": "waiting"}, id="waiting"),
    ],
)
def test_a_workflow_with_an_active_execution_is_no_orphan(
    active: dict[str, Any], geneva: gd.Drive, rows: Rows
) -> None:
    rows.execution(rows.workflow(), **active)

    assert orphans(geneva) == ([], None)


@pytest.mark.parametrize("state", ["completed", "failed", "skipped", "canceled", "pending"])
def test_a_workflow_with_nothing_but_ended_or_pending_executions_is_an_orphan(
    state: str, geneva: gd.Drive, rows: Rows
) -> None:
    orphan = rows.workflow()
    rows.execution(orphan, state=state)

    assert orphans(geneva) == ([orphan], None)


@pytest.mark.parametrize("state", ["paused", "finished", "canceled"])
def test_a_workflow_that_is_not_ready_is_no_orphan(
    state: str, geneva: gd.Drive, rows: Rows
) -> None:
    rows.workflow(state=state)

    assert orphans(geneva) == ([], None)


def test_orphans_of_another_type_are_not_given(geneva: gd.Drive, rows: Rows) -> None:
    rows.workflow(type="Other")

    assert orphans(geneva) == ([], None)


def test_types_of_which_nothing_is_ready_are_told_from_others_in_one_statement(
    geneva: gd.Drive, rows: Rows
) -> None:
    rows.workflow(type="Signup")
    rows.workflow(type="Order")
    rows.workflow(type="Refund", state="paused")
    among = ["Refund", "Order", "order", "Nobody", "Signup"]

    executed: list[str] = []

    with geneva.store.reading() as connection:
        event.listen(connection, "before_cursor_execute", lambda *seen: executed.append(seen[2]))
        ready = geneva.store.workflows.ready_types(connection, among)

    assert ready == ["Order", "Signup"]
    assert len(executed) == 1


def test_more_types_than_a_statement_takes_are_asked_for_portion_by_portion(
    geneva: gd.Drive, rows: Rows
) -> None:
    among = [f"Type{number}" for number in range(600)]
    for name in ("Type0", "Type249", "Type250", "Type599"):
        rows.workflow(type=name)

    with geneva.store.reading() as connection:
        ready = geneva.store.workflows.ready_types(connection, among)

    assert ready == ["Type0", "Type249", "Type250", "Type599"]


def test_a_portion_ends_at_the_last_that_was_looked_at(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.workflow() for _ in range(5)]
    rows.execution(made[0])
    rows.execution(made[3])

    assert orphans(geneva, portion=2) == ([made[1]], made[1])
    assert orphans(geneva, portion=2, after=made[1]) == ([made[2]], made[3])
    assert orphans(geneva, portion=2, after=made[3]) == ([made[4]], None)


def test_a_walk_goes_in_the_order_of_uuids_too(uuid_drive: gd.Drive) -> None:
    rows = Rows.of(uuid_drive)
    made = [rows.workflow(id=new_uuid()) for _ in range(5)]
    rows.execution(made[0], id=new_uuid())
    rows.execution(made[3], id=new_uuid())

    assert orphans(uuid_drive, portion=2) == ([made[1]], made[1])
    assert orphans(uuid_drive, portion=2, after=made[1]) == ([made[2]], made[3])
    assert orphans(uuid_drive, portion=2, after=made[3]) == ([made[4]], None)
