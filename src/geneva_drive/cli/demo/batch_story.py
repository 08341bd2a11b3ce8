"""The story of a batch: a process is killed, and a batch worker fails and is reset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo import story
from geneva_drive.cli.demo import workflows as shop
from geneva_drive.cli.demo.promises import Promise, recorded_once
from geneva_drive.cli.demo.run import DemoRun
from geneva_drive.cli.demo.snapshot import Kill, Snapshot, WorkflowSnapshot
from geneva_drive.engine.commit.rows import YIELD

_DAMAGED_ROW = 7_850  # of the fourth part
_ROWS_BEFORE_KILL = 600
_CONCURRENCY = 2  # so that the workers of the batch run in both processes
_OPERATOR = "olga@shop.example"


def tell(run: DemoRun) -> list[Kill]:
    """Run all chapters; each ends when the database says that it has happened."""
    story.open_shop(run, _CONCURRENCY)
    kill = _kill(run)
    _repair(run)
    story.end(run)
    return [kill]


def _kill(run: DemoRun) -> Kill:
    run.say(
        f"1. {shop.BATCH_ROWS:,} rows in five parts",
        "A batch divides the rows of a bank statement. Four of its workers run at once, and each "
        "saves a checkpoint every 100 rows. One of the processes is about to be killed ...",
        shop.Reconcile,
    )
    with Session(run.drive.engine) as session, session.begin():
        statement = shop.Statement(name="march", damaged_row=_DAMAGED_ROW)
        session.add(statement)
        shop.Reconcile.using(run.drive).create(statement, session=session)
    kill = run.kill_worker(
        lambda now: now.busiest(lambda e: e.completed_iterations >= _ROWS_BEFORE_KILL)
    )
    run.say(
        f"1. Process {kill.label} is dead",
        f"It was running {len(kill.held_ids)} workers of the batch. When its lease ends, another "
        "process continues each of them from its checkpoint.",
    )
    run.start_worker("C", _CONCURRENCY)
    run.play(lambda now: now.has_recovered(kill) and "C" in now.leases, at_least=3)
    return kill


def _repair(run: DemoRun) -> None:
    run.play(lambda now: any(e.state is gd.StepState.FAILED for e in _workers(now)))
    run.say(
        "2. A part that fails",
        "A row is damaged, so one worker fails. The batch isolates it: all others finish, and the "
        "workflow pauses before it adds up their sums. An operator looks at it ...",
    )
    [paused] = run.play(lambda now: bool(now.paused), at_least=2.5).paused
    with Session(run.drive.engine) as session, session.begin():
        session.get_one(shop.Statement, 1).damaged_row = None
    [failed] = [e.node_id for e in paused.workers if e.state is gd.StepState.FAILED]
    workflow = shop.Reconcile.using(run.drive).find(paused.id)
    workflow.reset_for_retry(failed, actor=_OPERATOR, reason="row repaired")
    run.say(
        "2. ... repairs the row, and resets that worker",
        "It continues from its checkpoint. The finished parts do not run again.",
    )
    run.play(lambda now: now.has_ended, at_least=2.5)


def _workers(now: Snapshot) -> list[gd.StepExecution]:
    return [e for workflow in now.workflows for e in workflow.workers]


def check(drive: gd.Drive, snapshot: Snapshot, kills: Sequence[Kill]) -> list[Promise]:
    [batch] = snapshot.of_type("Reconcile")
    return [recorded_once(snapshot, kills, drive), counted_once(batch), continued(batch)]


def counted_once(batch: WorkflowSnapshot) -> Promise:
    expected = sum(number**2 for number in range(shop.BATCH_ROWS))
    sums = [e.result for e in batch.executions if e.step_name == "total"]
    faults = [f"{sum_} cents were added up, not {expected}." for sum_ in sums if sum_ != expected]
    return Promise(
        f"{shop.BATCH_ROWS:,} rows in {len(batch.workers)} parts, each row counted exactly once",
        faults,
    )


def continued(batch: WorkflowSnapshot) -> Promise:
    """Promise that every attempt began at the last checkpoint of the one before it."""
    lost = batch.count(gd.Outcome.RECOVERED)
    resets = sum(entry.command == "reset_for_retry" for entry in batch.audit_entries)
    return Promise(
        f"parts: {lost} killed, {resets} failed and reset, each continued at its checkpoint",
        list(_checkpoint_faults(batch)),
    )


def _checkpoint_faults(batch: WorkflowSnapshot) -> Iterator[str]:
    attempts = batch.attempts()
    size = shop.BATCH_ROWS // len(batch.workers)
    for number, worker in enumerate(batch.workers):
        history = (entry for one in attempts[worker.node_id] for entry in one.checkpoint_history)
        cursors = [entry.cursor for entry in history if entry.reason == YIELD]
        if cursors != list(range(number * size + 100, (number + 1) * size, 100)):
            yield f"{worker.node_id} did not save each of its checkpoints once."
