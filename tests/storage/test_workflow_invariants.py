"""The database itself refuses workflows that may not be, whoever writes them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from tests.storage.rows import NOW, Rows, missing

HERO = {"hero_type": "User", "hero_id": "abc"}
SECOND_ONGOING = (
    "workflows_one_ongoing|"
    "UNIQUE constraint failed: geneva_drive_workflows.type, geneva_drive_workflows.hero_type"
)
SECOND_KEY = (
    "workflows_idempotency_key|"
    "UNIQUE constraint failed: geneva_drive_workflows.type, geneva_drive_workflows.idempotency_key"
)
NO_WORKFLOW = r"(?i)foreign key constraint"


@pytest.mark.parametrize("first", ["ready", "paused"])
@pytest.mark.parametrize("second", ["ready", "paused"])
def test_a_hero_has_one_ongoing_workflow_of_a_class(first: str, second: str, rows: Rows) -> None:
    rows.workflow(**HERO, state=first)

    with pytest.raises(DBAPIError, match=SECOND_ONGOING):
        rows.workflow(**HERO, state=second)

    assert rows.count(rows.tables.workflows) == 1


@pytest.mark.parametrize("ended", ["finished", "canceled"])
def test_an_ended_workflow_blocks_nobody(ended: str, rows: Rows) -> None:
    rows.workflow(**HERO, state=ended)
    rows.workflow(**HERO, state=ended)

    rows.workflow(**HERO)

    assert rows.count(rows.tables.workflows) == 3


def test_an_ended_workflow_cannot_be_made_ongoing_beside_another(rows: Rows) -> None:
    ended = rows.workflow(**HERO, state="finished")
    rows.workflow(**HERO)

    with pytest.raises(DBAPIError, match=SECOND_ONGOING):
        rows.change(rows.tables.workflows, ended, state="ready")

    assert rows.read(rows.tables.workflows, ended)["state"] == "finished"


def test_workflows_that_allow_multiple_are_not_refused_and_block_nobody(rows: Rows) -> None:
    rows.workflow(**HERO, allow_multiple=True)
    rows.workflow(**HERO, allow_multiple=True)

    rows.workflow(**HERO)

    assert rows.count(rows.tables.workflows) == 3


def test_workflows_without_a_hero_are_not_refused(rows: Rows) -> None:
    rows.workflow()
    rows.workflow()

    assert rows.count(rows.tables.workflows) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"type": "Farewell"},
        {"hero_type": "Admin"},
        {"hero_id": "abd"},
        {"hero_id": "ABC"},
        {"hero_type": "user"},
        {"type": "signup"},
        {"hero_id": "äbc"},
        {"hero_id": "abc "},
    ],
    ids=str,
)
def test_heroes_and_classes_are_told_apart_letter_by_letter(
    other: dict[str, Any], rows: Rows
) -> None:
    rows.workflow(**HERO)

    rows.workflow(**(HERO | other))

    assert rows.count(rows.tables.workflows) == 2


def test_an_idempotency_key_is_used_once_by_a_class(rows: Rows) -> None:
    rows.workflow(idempotency_key="k1", state="finished")

    with pytest.raises(DBAPIError, match=SECOND_KEY):
        rows.workflow(idempotency_key="k1")

    assert rows.count(rows.tables.workflows) == 1


def test_another_class_or_another_case_may_use_an_idempotency_key(rows: Rows) -> None:
    rows.workflow(idempotency_key="k1")

    rows.workflow(idempotency_key="K1")
    rows.workflow(idempotency_key="k1 ")
    rows.workflow(idempotency_key="k1", type="Farewell")

    assert rows.count(rows.tables.workflows) == 4


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"state": "performing"}, "workflows_state_known"),
        ({"state": "Ready"}, "workflows_state_known"),
        ({"requested": "stop"}, "workflows_requested_known"),
        ({"hero_type": "User"}, "workflows_hero_whole"),
        ({"hero_id": "abc"}, "workflows_hero_whole"),
    ],
    ids=str,
)
def test_a_workflow_that_makes_no_sense_is_refused(
    changes: dict[str, Any], constraint: str, rows: Rows
) -> None:
    with pytest.raises(DBAPIError, match=constraint):
        rows.workflow(**changes)

    workflow_id = rows.workflow()
    with pytest.raises(DBAPIError, match=constraint):
        rows.change(rows.tables.workflows, workflow_id, **changes)

    assert rows.count(rows.tables.workflows) == 1


@pytest.mark.parametrize("column", ["type", "state", "created_at", "updated_at", "allow_multiple"])
def test_a_workflow_lacks_nothing_it_needs(column: str, rows: Rows) -> None:
    with pytest.raises(DBAPIError, match=missing(column)):
        rows.workflow(**{column: None})

    assert rows.count(rows.tables.workflows) == 0


def test_a_workflow_has_one_pending_dead_letter(rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.dead_letter(workflow_id)

    with pytest.raises(DBAPIError, match=r"one_pending|UNIQUE constraint failed: .*workflow_id"):
        rows.dead_letter(workflow_id)

    assert rows.count(rows.tables.dead_letters) == 1


def test_resolved_dead_letters_block_nobody(rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.dead_letter(workflow_id, state="resolved")
    rows.dead_letter(workflow_id, state="resolved")

    rows.dead_letter(workflow_id)
    rows.dead_letter(rows.workflow())

    assert rows.count(rows.tables.dead_letters) == 4


def test_a_dead_letter_is_pending_or_resolved(rows: Rows) -> None:
    with pytest.raises(DBAPIError, match="dead_letters_state_known"):
        rows.dead_letter(rows.workflow(), state="lost")

    assert rows.count(rows.tables.dead_letters) == 0


def test_what_belongs_to_a_workflow_needs_one(rows: Rows) -> None:
    with pytest.raises(DBAPIError, match=NO_WORKFLOW):
        rows.execution(404)
    with pytest.raises(DBAPIError, match=NO_WORKFLOW):
        rows.dead_letter(404)
    with pytest.raises(DBAPIError, match=NO_WORKFLOW):
        rows.audit_entry(404)

    assert rows.count(rows.tables.step_executions) == 0


def test_a_deleted_workflow_takes_along_what_belongs_to_it(rows: Rows) -> None:
    workflow_id, other_id = rows.workflow(), rows.workflow()
    rows.execution(workflow_id)
    rows.dead_letter(workflow_id)
    rows.audit_entry(workflow_id)
    kept = rows.execution(other_id)

    with rows.engine.begin() as connection:
        workflows = rows.tables.workflows
        connection.execute(workflows.delete().where(workflows.c.id == workflow_id))

    assert rows.count(rows.tables.dead_letters) == 0
    assert rows.count(rows.tables.audit_entries) == 0
    assert rows.read(rows.tables.step_executions, kept)["workflow_id"] == other_id
    assert rows.count(rows.tables.step_executions) == 1


def test_a_worker_has_one_row(rows: Rows) -> None:
    worker = {"id": "w1", "name": "w1", "signatures": "{}", "started_at": NOW, "heartbeat_at": NOW}
    rows.insert(rows.tables.workers, **worker)

    with pytest.raises(DBAPIError, match=r"(?i)duplicate|UNIQUE constraint failed"):
        rows.insert(rows.tables.workers, **worker)

    assert rows.count(rows.tables.workers) == 1
