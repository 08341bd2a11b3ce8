"""Workflows that were under way before a migration go on after it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema import revisions
from geneva_drive.storage.schema.records import AuditRecord
from geneva_drive.testing import drain
from tests.approving import Decision, asked
from tests.storage.conftest import OpenDrive
from tests.storage.revising import Revision, create_tables
from tests.storage.schema import describe

NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class Greeting(gd.Workflow[Any]):
    type_name = "test_migrating_rows.Greeting"

    @gd.step(limit=gd.Limit(concurrency=1))
    def greet(self) -> None: ...


class Import(gd.Workflow[Any]):
    type_name = "test_migrating_rows.Import"

    @gd.resumable_step
    def rows(self, it: gd.IterableStep) -> None:
        for _ in it.iterate_over("abc"):
            pass


class Refund(gd.Workflow[Any]):
    type_name = "test_migrating_rows.Refund"

    @gd.step
    def look_up(self) -> None: ...

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...


@gd.job(queue="mail")
def greet() -> None: ...


def _migrate(drive: gd.Drive, revision: Revision, rows: Iterable[str], **values: str) -> None:
    """Insert rows into the tables before a revision, and migrate them."""
    create_tables(drive.engine, revision.statements_of(drive)[0])
    values_by_key = {"now": NOW.replace(tzinfo=None), **values}
    with drive.engine.begin() as connection:
        for row in rows:
            named = {key: value for key, value in values_by_key.items() if f":{key}" in row}
            connection.execute(text(f"INSERT INTO geneva_drive_{row}"), named)
    assert drive.migrate() == (revision.former, revisions.HEAD)


def _scheduled(key: int, type_name: str, step: str, node: str = "", slot: str = "chain") -> str:
    """Return an execution of workflow 1 that is due."""
    return (
        "step_executions (id, workflow_id, type, signature, step_name, node_id, slot, "
        "attempt_number, state, queue, priority, claimable, recoveries, scheduled_for, created_at) "
        f"VALUES ({key}, 1, {type_name}, 's', '{step}', '{node or step}', '{slot}', 1, "
        "'scheduled', 'default', 0, TRUE, 0, :now, :now)"
    )


def test_a_step_that_is_under_way_may_get_a_limit(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    rows = (
        "workflows (id, type, state, allow_multiple, next_step_name, created_at, updated_at) "
        "VALUES (1, :type, 'ready', FALSE, 'greet', :now, :now)",
        _scheduled(1, ":type", "greet"),
    )

    _migrate(drive, Revision("0003"), rows, type=Greeting.type_name)

    assert drain(drive) == 1
    assert Greeting.using(drive).finished().ids() == [1]


def test_a_step_that_is_under_way_may_become_resumable(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    rows = (
        "workflows (id, type, state, allow_multiple, next_step_name, created_at, updated_at) "
        "VALUES (1, :type, 'ready', FALSE, 'rows', :now, :now)",
        _scheduled(1, ":type", "rows"),
    )

    _migrate(drive, Revision("0004"), rows, type=Import.type_name)

    assert drain(drive) == 1
    [execution] = Import.using(drive).find(1).step_executions
    assert (execution.state, execution.completed_iterations) == ("completed", 3)


def test_a_graph_that_is_under_way_goes_on(empty_database_url: str, open_drive: OpenDrive) -> None:
    drive = open_drive(empty_database_url)
    nodes = (
        "graph_nodes (workflow_id, node_id, position, name, job, dependency_count, args, "
        "depends_on, dependants) VALUES "
    )
    rows = (
        "workflows (id, type, state, allow_multiple, has_graph, created_at, updated_at) "
        "VALUES (1, '', 'ready', TRUE, TRUE, :now, :now)",
        "graphs (workflow_id, signature, frozen_at, total, remaining) VALUES (1, 's', :now, 2, 2)",
        f"{nodes} (1, 'n_a', 0, 'first', :job, 0, '{{}}', '[]', '[\"n_b\"]')",
        f"{nodes} (1, 'n_b', 1, 'second', :job, 1, '{{}}', '[\"n_a\"]', '[]')",
        _scheduled(1000, "''", "first", node="n_a", slot="n_a"),
    )

    _migrate(drive, Revision("0006"), rows, job=greet.name)

    assert drain(drive) == 2
    workflow = gd.Workflow.using(drive).find(1)
    assert workflow.state == "finished"
    queues = {one.step_name: one.queue for one in workflow.step_executions}
    assert queues == {"first": "default", "second": "mail"}


def test_a_workflow_from_before_starters_was_started_by_none(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    row = (
        "workflows (id, type, state, allow_multiple, has_graph, created_at, updated_at) "
        "VALUES (1, 'Gone', 'ready', TRUE, FALSE, :now, :now)"
    )

    _migrate(drive, Revision("0008"), [row])

    assert gd.Workflow.using(drive).find(1).started_by is None


def test_workflows_that_are_under_way_may_wait_for_approvals(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    rows = (
        "workflows (id, type, state, allow_multiple, has_graph, next_step_name, created_at, "
        "updated_at) VALUES (1, :type, 'ready', FALSE, FALSE, 'look_up', :now, :now)",
        "workflows (id, type, state, allow_multiple, has_graph, next_step_name, paused_at, "
        "created_at, updated_at) "
        "VALUES (2, :type, 'paused', FALSE, FALSE, 'look_up', :now, :now, :now)",
        "audit_entries (id, workflow_id, command, at) VALUES (1000, 2, 'pause', :now)",
        _scheduled(1000, ":type", "look_up"),
    )

    _migrate(drive, Revision("0009"), rows, type=Refund.type_name)

    drain(drive)
    assert Refund.using(drive).paused().ids() == [1, 2]
    assert [e.command for e in Refund.using(drive).find(2).audit_entries] == ["pause"]
    asked(drive).approve(by="ann")
    drain(drive)
    assert Refund.using(drive).finished().ids() == [1]


def test_audit_entries_of_workflows_are_kept(
    empty_database_url: str, whole_schema: dict[str, Any], open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    rows = (
        "workflows (id, type, state, allow_multiple, has_graph, created_at, updated_at) "
        "VALUES (1, 'Delivery', 'finished', FALSE, FALSE, :now, :now)",
        "audit_entries (id, workflow_id, command, actor, reason, at) "
        "VALUES (7, 1, 'pause', 'ann', 'strike', :now)",
    )

    _migrate(drive, Revision("0017"), rows)

    assert describe(drive.engine) == whole_schema
    entries = drive.store.read(lambda c: drive.store.audit_entries.of_workflow(c, 1))
    assert entries == [AuditRecord(command="pause", actor="ann", reason="strike", at=NOW)]
