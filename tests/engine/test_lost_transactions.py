"""A transactional step is never recorded without its writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import speedrun


@pytest.fixture(autouse=True)
def _effects(geneva: gd.Drive) -> Iterator[None]:
    with geneva.engine.begin() as connection:
        connection.execute(text("CREATE TABLE lost_effects (number INTEGER)"))
    yield
    with geneva.engine.begin() as connection:
        connection.execute(text("DROP TABLE lost_effects"))


def _count(drive: gd.Drive) -> int:
    with drive.engine.connect() as connection:
        return connection.scalar(text("SELECT COUNT(*) FROM lost_effects")) or 0


def test_a_body_whose_transaction_was_rolled_back_under_it_runs_again(geneva: gd.Drive) -> None:
    runs: list[int] = []

    class Charge(gd.Workflow):
        @gd.step(transaction=True)
        def charge(self, session: Session) -> None:
            runs.append(len(runs))
            session.execute(text("INSERT INTO lost_effects VALUES (1)"))
            if len(runs) == 1:
                # What MySQL does by itself at a deadlock, which the body may then swallow.
                session.connection().exec_driver_sql("ROLLBACK")

    workflow = speedrun(Charge.create())

    assert (workflow.state, len(runs), _count(geneva)) == ("finished", 2, 1)


def test_a_body_that_never_keeps_its_transaction_fails_and_says_why(geneva: gd.Drive) -> None:

    class Charge(gd.Workflow):
        @gd.step(transaction=True)
        def charge(self, session: Session) -> None:
            session.execute(text("INSERT INTO lost_effects VALUES (1)"))
            session.connection().exec_driver_sql("ROLLBACK")

    workflow = speedrun(Charge.create())

    [execution] = workflow.step_executions
    assert (workflow.state, execution.outcome) == ("paused", "paused_by_exception")
    assert execution.error_message is not None
    assert "ended before the step did" in execution.error_message
    assert _count(geneva) == 0
