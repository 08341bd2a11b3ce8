"""Workflows that ended long ago are deleted with all that belongs to them, in batches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert, select

import geneva_drive as gd
from tests.storage.rows import NOW, Rows

DAY = timedelta(days=1)


def delete_ended(drive: gd.Drive, limit: int) -> int:
    store = drive.store
    return store.write(lambda connection: store.workflows.delete_ended(connection, NOW, limit))


def test_only_workflows_that_ended_before_the_moment_are_deleted(
    geneva: gd.Drive, rows: Rows
) -> None:
    rows.workflow(state="finished", finished_at=NOW - DAY)
    rows.workflow(state="canceled", canceled_at=NOW - DAY)
    kept = [
        rows.workflow(state="finished", finished_at=NOW),
        rows.workflow(state="canceled", canceled_at=NOW + DAY),
        rows.workflow(state="paused", paused_at=NOW - DAY),
        rows.workflow(started_at=NOW - DAY),
    ]

    assert delete_ended(geneva, 100) == 2

    with geneva.engine.connect() as connection:
        table = rows.tables.workflows
        assert connection.scalars(select(table.c.id).order_by(table.c.id)).all() == kept


def test_what_belongs_to_a_workflow_is_deleted_with_it(geneva: gd.Drive, rows: Rows) -> None:
    old = rows.workflow(state="finished", finished_at=NOW - DAY)
    rows.execution(old, state="completed")
    rows.execution(old, state="completed", node_id="other")
    rows.dead_letter(old, state="resolved")
    rows.audit_entry(old)
    young = rows.workflow()
    rows.execution(young)
    rows.dead_letter(young)
    rows.audit_entry(young)

    assert delete_ended(geneva, 100) == 1

    tables = rows.tables
    children = (tables.step_executions, tables.dead_letters, tables.audit_entries)
    assert [rows.count(table) for table in children] == [1, 1, 1]


def test_a_batch_is_no_larger_than_its_limit_and_the_oldest_go_first(
    geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.workflow(state="finished", finished_at=NOW - DAY) for _ in range(5)]

    first = delete_ended(geneva, 2)
    with geneva.engine.connect() as connection:
        left = connection.scalars(select(rows.tables.workflows.c.id)).all()

    assert (first, sorted(left)) == (2, made[2:])
    assert [delete_ended(geneva, 2) for _ in range(3)] == [2, 1, 0]


def test_pruning_goes_on_until_nothing_is_left(geneva: gd.Drive, rows: Rows) -> None:
    ended = {"type": "T", "state": "finished", "created_at": NOW, "updated_at": NOW}
    with geneva.engine.begin() as connection:
        connection.execute(insert(rows.tables.workflows), [ended | {"finished_at": NOW}] * 1001)
    rows.workflow(state="finished", finished_at=geneva.clock.now())

    assert geneva.prune(older_than=DAY) == 1001

    assert rows.count(rows.tables.workflows) == 1


@pytest.mark.databases("postgresql", "mysql")
def test_a_workflow_that_somebody_holds_is_left_for_later(geneva: gd.Drive, rows: Rows) -> None:
    held = rows.workflow(state="finished", finished_at=NOW - DAY)
    rows.workflow(state="finished", finished_at=NOW - DAY)

    with geneva.store.transaction() as other:
        geneva.store.workflows.lock(other, [held])
        deleted = delete_ended(geneva, 100)

    assert (deleted, delete_ended(geneva, 100)) == (1, 1)


def test_pruning_needs_to_know_what_is_old(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        geneva.prune()

    assert str(refusal.value) == "prune() needs older_than=..., or the setting retention."
