"""Resumable steps in tests: workflows that loop, and where their loops stand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import geneva_drive as gd
from geneva_drive.storage.schema.records import ExecutionRecord

Body = Callable[[Any, Any], Any]


def importing(body: Body, **options: Any) -> gd.WorkflowHandle[Any]:
    """Create a workflow whose first step loops with this body, and which ends with a report."""

    class Import(gd.Workflow):
        @gd.resumable_step(**options)
        def rows(self, it: gd.IterableStep) -> Any:
            return body(self, it)

        @gd.step
        def report(self) -> None: ...

    return Import.create()


def importing_in_transactions(
    body: Callable[[Any, Any, Any], Any], **options: Any
) -> gd.WorkflowHandle[Any]:
    """Create a workflow like that, whose items commit together with its cursor."""

    class Import(gd.Workflow):
        @gd.resumable_step(transaction=True, **options)
        def rows(self, it: gd.IterableStep, session: Any) -> Any:
            return body(self, it, session)

        @gd.step
        def report(self) -> None: ...

    return Import.create()


class Place(NamedTuple):
    """Where an execution stands."""

    state: str
    interrupted_by: str | None
    cursor: Any
    iterations: int


def place(execution: gd.StepExecution) -> Place:
    return Place(
        execution.state.value,
        execution.metadata.get("interrupted_by"),
        execution.cursor,
        execution.completed_iterations,
    )


def places(workflow: gd.WorkflowHandle[Any]) -> list[Place]:
    """Where every execution of the loop stands, in order of attempts."""
    return [place(e) for e in workflow.reload().step_executions if e.step_name == "rows"]


def reasons(execution: gd.StepExecution) -> list[tuple[str, Any, int]]:
    """What happened on the way: each event with the cursor and the count at that time."""
    return [(c.reason, c.cursor, c.completed_iterations) for c in execution.checkpoint_history]


def wait_of(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> timedelta:
    """How long from now the workflow's active execution is to wait."""
    execution = workflow.reload().current_execution
    assert execution is not None
    return execution.scheduled_for - drive.clock.now()


def records(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> list[ExecutionRecord]:
    """The rows of all executions, with what no user sees."""
    with drive.store.reading() as connection:
        return list(drive.store.executions.of_workflow(connection, workflow.id))


def through(items: Any, done: list[Any], then: Callable[[Any, Any], object] | None = None) -> Body:
    """A body that loops over items, notes each, and does something with the workflow and it."""

    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over(items):
            done.append(item)
            if then is not None:
                then(self, item)

    return body
