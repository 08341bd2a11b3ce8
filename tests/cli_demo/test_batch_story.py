"""What the story of the batch promises, after a run without worker processes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from geneva_drive.testing import crash_after, drain
from tests.cli_demo.conftest import Shop

pytestmark = pytest.mark.usefixtures("_no_waits")


@pytest.fixture
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


def test_a_crash_and_a_reset_keep_the_promises_of_a_batch(shop: Shop) -> None:
    _run_batch(shop)

    checked = _checked(shop)

    assert [promise.faults for promise in checked] == [[], [], []]
    assert [promise.text for promise in checked] == [
        "1 workflow, each step done once and in order",
        "10,000 rows in 5 parts, each row counted exactly once",
        "parts: 1 killed, 1 failed and reset, each continued at its checkpoint",
    ]


def test_a_wrong_sum_and_a_missing_checkpoint_are_faults(shop: Shop) -> None:
    _run_batch(shop)
    tables = shop.drive.store.tables
    executions, checkpoints = tables.step_executions, tables.checkpoints
    with shop.drive.engine.begin() as connection:
        total = update(executions).where(executions.c.step_name == "total").values(result="7")
        connection.execute(total)
        connection.execute(delete(checkpoints).where(checkpoints.c.cursor == "700"))

    _, counted, continued = _checked(shop)

    assert counted.faults == ["7 cents were added up, not 333283335000."]
    assert continued.faults == ["add_rows_001 did not save each of its checkpoints once."]


def _run_batch(shop: Shop) -> None:
    """Run it with a crash behind its first checkpoint, and with a worker that is reset."""
    with Session(shop.drive.engine) as session, session.begin():
        statement = shop.tables.Statement(id=1, name="march", damaged_row=7_350)
        session.add(statement)
        workflow = shop.tables.Reconcile.using(shop.drive).create(statement, session=session)
    with crash_after("redispatch"):
        drain(shop.drive)
    drain(shop.drive)
    with Session(shop.drive.engine) as session, session.begin():
        session.get_one(shop.tables.Statement, 1).damaged_row = None
    workflow.reset_for_retry("add_rows_004", actor="olga")
    drain(shop.drive)


def _checked(shop: Shop) -> list[Any]:
    return shop.modules["batch_story"].check(shop.drive, shop.look(), [])  # type: ignore[no-any-return]
