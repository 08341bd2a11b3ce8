"""Runs workflows in a test, without a worker."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from geneva_drive import checks
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.workflow import Workflow, definition_of, start_executing
from geneva_drive.display import shown
from geneva_drive.drive.default_drive import current_drive
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine import contexts
from geneva_drive.engine.execution.run_context import RunContext
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.serialization import typed_json
from geneva_drive.states import Need, StepState, WorkflowState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.testing.arguments import drive_or_default, require_handle
from geneva_drive.testing.decisions import GivenDecision, Plan, decide_pending
from geneva_drive.testing.decisions import parse as parse_decisions
from geneva_drive.testing.events import EventArguments, GivenEvent
from geneva_drive.testing.events import parse as parse_events
from geneva_drive.worker import inline_worker

if TYPE_CHECKING:
    from geneva_drive.definition.context_type import GivenContext

W = TypeVar("W", bound=Workflow[Any, Any])
_MOST_RUNS = 10_000


def speedrun(
    workflow: WorkflowHandle[W],
    max_steps: int = 100,
    decisions: Mapping[Any, GivenDecision] | None = None,
    events: Sequence[GivenEvent] = (),
) -> WorkflowHandle[W]:
    """Run a workflow to its end or next pause, ignoring waits.

    `decisions` has the choices for its approvals, and for those of its child workflows, as in
    `{"manager_approval": "approve"}`. `events` are published one after the other, each when nothing
    else can run: a type, or a dictionary of the arguments of `publish`. The workflow stops at any
    other approval or wait for an event, and no deadline passes. Raises `AssertionError` if more
    than `max_steps` executions are needed.
    """
    require_handle("speedrun", workflow)
    checks.whole_number("speedrun(max_steps=...)", max_steps, at_least=0)
    decided = parse_decisions(workflow, decisions)
    given = deque(parse_events(events))
    _speedrun(workflow, max_steps, decided, given)
    if given:
        raise InvalidInput(
            f"{workflow!r} did not wait for {len(given)} of the events, beginning with "
            f"{given[0]['type']!r}: it is {workflow.state}."
        )
    return workflow


def _speedrun(
    workflow: WorkflowHandle[W], max_steps: int, plan: Plan, events: deque[EventArguments]
) -> WorkflowHandle[W]:
    decide_pending(workflow, plan)
    for _ in range(max_steps):
        if perform_next_step(workflow) is None and not _speedrun_child(
            workflow, max_steps, plan, events
        ):
            if not events or workflow.reload().needs is not Need.EVENT:
                return workflow
            workflow.drive.publish(**events.popleft())
        decide_pending(workflow, plan)
    workflow.reload()
    if workflow.current_execution is None or workflow.state is WorkflowState.PAUSED:
        return workflow
    raise AssertionError(
        f"{workflow!r} has not ended after {max_steps} steps; it is at "
        f"{workflow.next_step_name!r}. Raise max_steps, or look for an endless reattempt."
    )


def _speedrun_child(
    workflow: WorkflowHandle[Any], max_steps: int, plan: Plan, events: deque[EventArguments]
) -> bool:
    """Run a child that a node waits for; True if it ended."""
    awaited = [one.child_id for one in workflow.current_executions if one.child_id is not None]
    for child_id in awaited:
        child = workflow.drive.workflows(Workflow).find(child_id)
        if child.is_ongoing and not _speedrun(child, max_steps, plan, events).reload().is_ongoing:
            return True
    return False


def perform_next_step(workflow: WorkflowHandle[Any]) -> StepExecution | None:
    """Run the next execution, whatever its schedule; return None if there is none."""
    require_handle("perform_next_step", workflow)
    workflow.reload()
    execution = _next_execution(workflow)
    if workflow.state is not WorkflowState.READY or execution is None:
        return None
    return _perform(workflow, execution, EarlyStops())


def perform_step_inline(workflow: WorkflowHandle[Any], step: object = None) -> StepExecution:
    """Run the scheduled execution in this thread; `step`, if given, must be next."""
    require_handle("perform_step_inline", workflow)
    return _perform_inline(workflow, step, EarlyStops())


def _perform_inline(
    workflow: WorkflowHandle[Any], step: object, early_stops: EarlyStops
) -> StepExecution:
    execution = _execution_to_run(workflow, step)
    performed = _perform(workflow, execution, early_stops)
    if performed is None:
        raise InvalidStateError(f"{workflow!r} is paused, so its step cannot be performed.")
    return performed


def _execution_to_run(workflow: WorkflowHandle[Any], step: object) -> StepExecution:
    workflow.reload()
    name = None if step is None else workflow.name_of(step)
    execution = _next_execution(workflow, name) or _next_execution(workflow)
    if execution is None:
        raise InvalidStateError(f"{workflow!r} has no scheduled step to perform.")
    if name is not None and name not in (execution.step_name, execution.node_id):
        raise InvalidStateError(
            f"{workflow!r} is at step {execution.step_name!r}, not at {shown(name)}."
        )
    return execution


def _next_execution(workflow: WorkflowHandle[Any], name: str | None = None) -> StepExecution | None:
    """Return the oldest execution that can run, of the node `name` if given."""
    return next(
        (
            one
            for one in workflow.current_executions
            if one.state in (StepState.SCHEDULED, StepState.SUSPENDED)
            and (name is None or name in (one.step_name, one.node_id))
        ),
        None,
    )


def speedrun_resumable_step(workflow: WorkflowHandle[Any], step: object) -> StepExecution:
    """Run a resumable step to its end, ignoring interruptions and waits."""
    require_handle("speedrun_resumable_step", workflow)
    execution = _perform_inline(workflow, step, EarlyStops(are_off=True))
    for _ in range(_MOST_RUNS):
        going_on = workflow.reload().current_execution
        if going_on is None or going_on.step_name != execution.step_name:
            return execution
        if workflow.state is not WorkflowState.READY:
            return execution
        execution = _perform_inline(workflow, step, EarlyStops(are_off=True))
    raise AssertionError(
        f"{workflow!r} suspended step {execution.step_name!r} {_MOST_RUNS} times. Check whether it "
        f"suspends itself or is throttled forever."
    )


def run_iterations(workflow: WorkflowHandle[Any], step: object, *, count: int) -> StepExecution:
    """Run `count` items of a resumable step, then interrupt it."""
    require_handle("run_iterations", workflow)
    _require_count(count)
    _require_resumable(workflow, _execution_to_run(workflow, step).step_name)
    execution = _perform_inline(workflow, step, EarlyStops(max_iterations=count))
    following = workflow.reload().current_execution
    has_partitions = following is not None and following.node_id != following.step_name
    if has_partitions and execution.node_id == execution.step_name:
        # The first run only created the partitions.
        return _perform_inline(workflow, step, EarlyStops(max_iterations=count))
    return execution


def _require_count(count: Any) -> None:
    checks.whole_number(
        "run_iterations(count=...)",
        count,
        at_least=1,
        hint=" To run a step to its end, use speedrun_resumable_step().",
    )


def _require_resumable(workflow: WorkflowHandle[Any], step_name: str) -> None:
    workflow_class = workflow.workflow_class
    node = definition_of(workflow_class).get(step_name) if workflow_class else None
    if node is None or not node.is_resumable:
        raise InvalidInput(
            f"run_iterations() needs a resumable step, but step {step_name!r} of {workflow!r} is "
            f"not one. To run it, use perform_step_inline()."
        )


def drain(drive: Drive | None = None) -> int:
    """Run all due executions, and those that become due by this; return how many ran."""
    return inline_worker.run_due(drive_or_default("drain", drive).environment)


def instance(
    workflow_class: type[W],
    hero: Any = None,
    *,
    context: GivenContext | None = None,
    drive: Drive | None = None,
) -> W:
    """Return an instance to call a body directly; nothing is stored.

    >>> import geneva_drive as gd
    >>> from geneva_drive.testing import instance
    >>> class Invoice(gd.Workflow):
    ...     @gd.step
    ...     def total(self): return self.context["net"] * 1.21
    >>> instance(Invoice, context={"net": 100}).total()
    121.0
    """
    opened = None if drive is None else drive_or_default("instance", drive)
    given: object = workflow_class
    if not isinstance(given, WorkflowMeta) or given is Workflow:
        raise InvalidInput(
            f"instance() takes a workflow class of your own, got {shown(workflow_class)}."
        )
    definition = definition_of(workflow_class)
    is_untyped = context is not None and definition.context_type is None
    if is_untyped and not checks.is_json_object(context):
        raise InvalidInput(
            f"instance(context=...) must be a dictionary with text as keys, got {shown(context)}."
        )
    now = datetime.now(UTC)
    reference = _reference_to(hero)
    record = WorkflowRecord(
        id=None,
        type=definition.type,
        state=WorkflowState.READY,
        hero_type=reference.type if reference else None,
        hero_id=reference.id if reference else None,
        context=None if context is None else contexts.dump(definition, context, sys.maxsize),
        created_at=now,
        updated_at=now,
    )
    bare = _BareContext(opened, workflow_class, record, hero)
    return start_executing(workflow_class, bare)


def _reference_to(hero: object) -> HeroRef | None:
    try:
        return heroes.reference_to(hero)
    except InvalidInput:
        return None  # an object of the test, which is never loaded


class _BareContext(RunContext):
    """The run context of an instance whose workflow is not stored."""

    def __init__(
        self,
        drive: Drive | None,
        workflow_class: type[Workflow[Any, Any]],
        record: WorkflowRecord,
        hero: Any,
    ) -> None:
        # The environment is opened on demand: most bodies need no database.
        super().__init__(
            lambda: (drive or current_drive()).environment,
            definition_of(workflow_class),
            record,
            None,
        )
        self._given_hero = hero

    def load_hero(self) -> Any:
        return self._given_hero

    def dump_result(self, value: object) -> str:
        return typed_json.dump(value)


def _perform(
    workflow: WorkflowHandle[Any], execution: StepExecution, early_stops: EarlyStops
) -> StepExecution | None:
    drive = workflow.drive
    if not inline_worker.run_one(drive.environment, execution.id, early_stops):
        return None
    workflow.reload()
    return next(e for e in workflow.step_executions if e.id == execution.id)
