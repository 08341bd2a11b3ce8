"""The connection dies during COMMIT: it is found out what happened, and done once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Table

import geneva_drive as gd
from geneva_drive.testing import perform_step_inline
from tests.worker.conftest import MakeDrive, effects_of
from tests.worker.faults import (
    CommitFault,
    Strike,
    kill_from_outside,
    lose_answer,
    lose_commit,
)
from tests.worker.watching import rows_of, wait_until

BOTH_DONE = [("work", "completed", "success"), ("rest", "completed", "success")]


def _run_to_the_end(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> None:
    with drive.worker(concurrency=2):
        wait_until(lambda: workflow.reload().state == "finished", "the workflow is finished")


@pytest.mark.parametrize(
    ("strike", "expected"),
    [(lose_answer, ("work", "completed", "success")), (lose_commit, ("work", "in_progress", None))],
)
def test_a_lost_answer_leaves_the_commit_carried_out_and_a_lost_commit_does_not(
    geneva: gd.Drive, make_drive: MakeDrive, strike: Strike, expected: tuple[str, str, str | None]
) -> None:
    drive = make_drive(heartbeat_interval="5m", lease="10m")
    seen: list[Any] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()

    def strike_and_look(connection: Connection, carry_out: Callable[[], object]) -> None:
        try:
            strike(connection, carry_out)
        finally:
            seen.extend(rows_of(task))

    CommitFault(drive.engine, writes="completed", strike=strike_and_look)

    _run_to_the_end(drive, task)

    assert seen == [expected]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_commit_whose_answer_is_lost_is_recorded_once_and_its_chain_adopted(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval="5m", lease="10m")
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")

        @gd.step
        def rest(self) -> None:
            bodies.append("rest")

    task = Task.create()
    fault = CommitFault(drive.engine, writes="completed", strike=lose_answer)

    _run_to_the_end(drive, task)

    assert fault.is_over
    assert bodies == ["work", "rest"]
    assert rows_of(task) == BOTH_DONE


@pytest.mark.parametrize("strike", [lose_answer, lose_commit])
def test_nodes_of_a_graph_whose_commit_is_not_answered_run_once(
    geneva: gd.Drive, make_drive: MakeDrive, strike: Strike
) -> None:
    drive = make_drive(heartbeat_interval="5m", lease="10m")
    bodies: list[str] = []

    @gd.job(name="ambiguous.note")
    def note(*, node: Any) -> None:
        bodies.append(node.name)

    w = gd.DynamicWorkflow(drive=drive)
    w.node("start", job=note)
    middle = w.fan_out(range(4), name="item_{}", job=note)
    for number, one in enumerate(middle):
        w.node(f"after_{number}", job=note, depends_on=[one])
    workflow = w.start()
    names = sorted(node["name"] for node in workflow.dag["nodes"].values())
    perform_step_inline(workflow)
    fault = CommitFault(drive.engine, writes="completed", strike=strike)

    _run_to_the_end(drive, workflow)

    assert fault.is_over
    assert sorted(bodies) == names
    assert {row[1:] for row in rows_of(workflow)} == {("completed", "success")}


def test_a_commit_that_is_lost_is_made_again(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    drive = make_drive(heartbeat_interval="5m", lease="10m")
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")

        @gd.step
        def rest(self) -> None:
            bodies.append("rest")

    task = Task.create()
    fault = CommitFault(drive.engine, writes="completed", strike=lose_commit)

    _run_to_the_end(drive, task)

    assert fault.is_over
    assert bodies == ["work", "rest"]
    assert rows_of(task) == BOTH_DONE


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no server
def test_a_connection_that_the_server_kills_during_commit_costs_nothing(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval="5m", lease="10m")
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")

        @gd.step
        def rest(self) -> None:
            bodies.append("rest")

    task = Task.create()
    fault = CommitFault(drive.engine, writes="completed", strike=kill_from_outside(geneva))

    _run_to_the_end(drive, task)

    assert fault.is_over
    assert bodies == ["work", "rest"]
    assert rows_of(task) == BOTH_DONE


def test_a_claim_whose_answer_is_lost_is_given_back_without_being_counted(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.1, max_recoveries=0)
    bodies: list[int] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append(self.attempt)

    task = Task.create()
    fault = CommitFault(drive.engine, writes="in_progress", strike=lose_answer)

    _run_to_the_end(drive, task)

    assert fault.is_over
    assert bodies == [2]
    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "completed", "success")]
    assert task.step_executions[0].error_message == "The answer to its claim was lost."


def test_run_until_idle_waits_for_a_claim_whose_answer_was_lost(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.1)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    fault = CommitFault(drive.engine, writes="in_progress", strike=lose_answer)

    drive.worker().run_until_idle()

    assert fault.is_over
    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "completed", "success")]


@pytest.mark.parametrize("strike", [lose_answer, lose_commit])
def test_the_effects_of_a_transaction_are_there_once(
    geneva: gd.Drive, make_drive: MakeDrive, effects: Table, strike: Strike
) -> None:
    drive = make_drive(heartbeat_interval=0.1)

    class Task(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Any) -> None:
            session.execute(effects.insert().values(name="work"))

        @gd.step(transaction=True)
        def rest(self, session: Any) -> None:
            session.execute(effects.insert().values(name="rest"))

    task = Task.create()
    fault = CommitFault(drive.engine, writes="completed", strike=strike)

    _run_to_the_end(drive, task)

    assert fault.is_over
    assert sorted(effects_of(geneva, effects)) == ["rest", "work"]
    assert [row for row in rows_of(task) if row[1] == "completed"] == BOTH_DONE
    assert geneva.executions(state="in_progress").count() == 0
