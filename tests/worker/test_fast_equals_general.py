"""The fast path writes what the general path writes: all columns, for any definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import new_class
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.engine.claimed_execution import Claimed, chained_claim
from geneva_drive.engine.commit import commit, plain_completions
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.worker.claims.claimer import claim_one
from geneva_drive.worker.identity import Identity

WORKER = Identity(id="worker")
TYPE = "tests.worker.fast_equals_general"
BESIDE = f"{TYPE}.beside"

Write = Callable[[gd.Drive, EndedRun, NextClaim | None], Applied | None]
Row = dict[str, Any]


class StoppedClock:
    """Stands still until it is moved, so that both paths write at the same moments."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    wait: timedelta
    queue: str | None
    priority: int | None
    has_limit: bool
    runs_for: timedelta
    may_chain: bool
    is_renamed: bool  # by a deploy between its claim and its completion


@dataclass(frozen=True, kw_only=True)
class Plan:
    steps: list[StepPlan]
    queue: str
    priority: int
    created_with: dict[str, Any]
    starts_at: datetime
    beside: int | None  # the priority of another workflow that is due all the time


EPOCH = datetime(1990, 1, 1, tzinfo=UTC)
moments = st.timedeltas(timedelta(0), timedelta(days=70_000)).map(lambda span: EPOCH + span)
spans = st.timedeltas(timedelta(0), timedelta(days=400))
queues = st.sampled_from(["default", "mail", "Mail", "été", "q" * 60])
priorities = st.integers(1 - 2**31, 2**31 - 1) | st.integers(-2, 2)
steps = st.builds(
    StepPlan,
    wait=st.just(timedelta(0)) | spans,
    queue=st.none() | queues,
    priority=st.none() | priorities,
    has_limit=st.booleans(),
    runs_for=st.just(timedelta(0)) | spans,
    may_chain=st.booleans(),
    is_renamed=st.booleans(),
)
plans = st.builds(
    Plan,
    steps=st.lists(steps, min_size=1, max_size=4),
    queue=queues,
    priority=priorities,
    created_with=st.fixed_dictionaries(
        {}, optional={"queue": queues, "priority": priorities, "context": st.just({"a": [1, "é"]})}
    ),
    starts_at=moments,
    beside=st.none() | st.integers(-3, 3),
)


def fast(drive: gd.Drive, one: EndedRun, chaining: NextClaim | None) -> Applied | None:
    assert plain_completions.is_plain(one)
    written = plain_completions.complete(drive.store, [one], drive.clock.now(), chaining)
    return written.get(one.execution_id)


def general(drive: gd.Drive, one: EndedRun, chaining: NextClaim | None) -> Applied | None:
    store = drive.store
    [applied] = store.write(
        lambda c: commit.apply(c, store, [one], drive.clock, chaining=chaining, read_back=True)
    )
    return applied


def define(plan: Plan, renamed: int) -> type[gd.Workflow[Any]]:
    """Define the class as it is once the first `renamed` steps have been claimed."""

    def body(self: Any) -> None: ...

    members: dict[str, Any] = {"type_name": TYPE, "queue": plan.queue, "priority": plan.priority}
    for number, one in enumerate(plan.steps):
        options: dict[str, Any] = {
            "wait": one.wait,
            "queue": one.queue,
            "priority": one.priority,
            "limit": gd.Limit(key=f"limit {number}", concurrency=1) if one.has_limit else None,
        }
        options = {name: value for name, value in options.items() if value is not None}
        if one.is_renamed and number < renamed:
            members[f"new_{number}"] = gd.step(body, renamed_from=f"step_{number}", **options)
        else:
            members[f"step_{number}"] = gd.step(body, **options)
    return make_class("Planned", members)


def make_class(name: str, members: dict[str, Any]) -> type[gd.Workflow[Any]]:
    return new_class(name, (gd.Workflow,), exec_body=lambda namespace: namespace.update(members))


def define_beside(priority: int) -> type[gd.Workflow[Any]]:
    def body(self: Any) -> None: ...

    members = {"type_name": BESIDE, "priority": priority, "wait": gd.step(body)}
    return make_class("Beside", members)


def run(drive: gd.Drive, clock: StoppedClock, plan: Plan, write: Write) -> list[Row]:
    """Run a workflow to its end; return its rows and what was told of them after each step."""
    store, found = drive.store, []
    store.write(store.empty)
    clock.at = plan.starts_at
    workflow = define(plan, 0).using(drive).create(**plan.created_with)
    if plan.beside is not None:
        define_beside(plan.beside).using(drive).create()
    claimed: Claimed | None = None
    for number, one in enumerate(plan.steps):
        clock.at += one.runs_for
        claimed = claimed or claim(drive, workflow)
        define(plan, number + 1)
        chaining = NextClaim(
            worker_id="worker", claim_token=f"token {number}", types=(TYPE, BESIDE), queues=None
        )
        applied = write(
            drive,
            claimed.ending(Returned(), may_chain=one.may_chain),
            chaining if one.may_chain else None,
        )
        assert applied is not None
        found += [*rows(drive, workflow), *told(applied)]
        claimed = chained_claim(claimed, applied)
    assert workflow.reload().state == "finished"
    return found


def claim(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> Claimed:
    [active] = workflow.reload().current_executions
    claimed = claim_one(drive.environment, WORKER, active.id)
    assert claimed is not None
    return claimed


def rows(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> list[Row]:
    executions, workflows = drive.store.tables.step_executions, drive.store.tables.workflows
    with drive.store.reading() as connection:
        found = [
            *connection.execute(workflows.select().where(workflows.c.id == workflow.id)).mappings(),
            *connection.execute(
                executions.select()
                .where(executions.c.workflow_id == workflow.id)
                .order_by(executions.c.id)
            ).mappings(),
        ]
    return [without_ids(dict(row)) for row in found]


def told(applied: Applied) -> list[Row]:
    records: Sequence[WorkflowRecord | ExecutionRecord] = [applied.workflow, *applied.scheduled]
    return [without_ids(record._asdict()) for record in records]


def without_ids(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("id", "workflow_id")}


@pytest.fixture(params=["bigint", "uuid"])
def drive(request: pytest.FixtureRequest, geneva: gd.Drive, uuid_drive: gd.Drive) -> gd.Drive:
    return geneva if request.param == "bigint" else uuid_drive


# One Drive serves all examples: `run` empties it.
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans)
def test_both_paths_write_the_same_columns(drive: gd.Drive, plan: Plan) -> None:
    clock = StoppedClock(plan.starts_at)
    drive.clock = clock
    with registry.isolated():
        by_the_fast_path = run(drive, clock, plan, fast)
        by_the_general_path = run(drive, clock, plan, general)

    assert by_the_fast_path == by_the_general_path
