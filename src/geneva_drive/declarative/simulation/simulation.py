"""Simulate a document: every step and its outcome, without a database and without effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from geneva_drive.declarative import routes
from geneva_drive.declarative.action_types import AnyAction, SetAction
from geneva_drive.declarative.actions.changes import ContextChange, apply_changes
from geneva_drive.declarative.actions.execution import rendered
from geneva_drive.declarative.condition import evaluate
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.expressions import compile_set_path
from geneva_drive.declarative.input_schema import check_input
from geneva_drive.declarative.json_types import type_name
from geneva_drive.declarative.routes import EndBranch, EndedStep, Ending, Fail, FinishWorkflow, GoTo
from geneva_drive.declarative.simulation import details as words
from geneva_drive.declarative.simulation.case import Case, SimulatedDecision, SimulatedEvent
from geneva_drive.declarative.simulation.trace import Trace, TraceState, Visit
from geneva_drive.declarative.steps import (
    ActionStep,
    ApprovalStep,
    ConditionStep,
    ExecuteStep,
    ForeachStep,
    ParallelStep,
    Step,
    WaitStep,
    WorkflowStep,
)
from geneva_drive.declarative.templates import render
from geneva_drive.definition.waits import event_values
from geneva_drive.durations import describe
from geneva_drive.errors import ExpressionFailed, InvalidInput

MAX_VISITS = 100_000  # of steps in one case: a `foreach` in a `foreach` in a `foreach` grows fast


def simulate(document: Document, case: Case) -> Trace:
    """Return the trace of one case.

    `set` writes into the context. Other actions only have their templates replaced. Loaders do not
    run: the context of the case holds what they would load. Branches of a `parallel` run one after
    the other.
    """
    check_input(document, case.context)
    _check_decisions(document, case)
    run = _Run(document, case)
    end = run.walk(document.steps[0].id, dict(case.context), ())
    context = apply_changes(case.context, run.changes)
    visits = tuple(run.visits)
    if isinstance(end, FinishWorkflow):
        return Trace(
            visits=visits,
            state=TraceState.FINISHED,
            result=end.result,
            reason=end.reason,
            context=context,
        )
    state = TraceState.WAITING if end is None else TraceState.FAILED
    reason = None if end is None else end.reason
    return Trace(visits=visits, state=state, result=None, reason=reason, context=context)


def unreached(document: Document, traces: Iterable[Trace]) -> list[str]:
    """Return the steps that no trace visited, in their order in the document."""
    seen = {visit.step_id for trace in traces for visit in trace.visits}
    return [step.id for step in document.all_steps() if step.id not in seen]


def _check_decisions(document: Document, case: Case) -> None:
    for step_id, decision in case.decisions.items():
        if step_id not in document.places:
            raise InvalidInput(
                f"There is no step {step_id!r} in {document.workflow_id!r} to decide. Its steps "
                f"are {', '.join(document.places)}."
            )
        known = possible_decisions(document.step(step_id))
        if decision not in known:
            raise InvalidInput(
                f"Step {step_id!r} cannot be decided with {str(decision)!r}, only with "
                f"{' or '.join(known)}."
            )


def possible_decisions(step: Step) -> tuple[SimulatedDecision, ...]:
    """Return the possible decisions on a step; only a step with a timeout can expire."""
    timeout = step.timeout
    if isinstance(step, ActionStep) and step.requires is not None:
        timeout = step.requires.timeout or timeout
    expiry = () if timeout is None else (SimulatedDecision.EXPIRE,)
    if isinstance(step, ApprovalStep) or (isinstance(step, ActionStep) and step.requires):
        return (
            SimulatedDecision.APPROVE,
            SimulatedDecision.REJECT,
            *expiry,
            SimulatedDecision.FAIL,
        )
    if isinstance(step, WaitStep):
        return (*expiry, SimulatedDecision.FAIL)
    return (SimulatedDecision.FAIL,)


class _Waits(Exception):
    """A step waits for a decision or event that the case does not have."""


class _Run:
    """One case that runs through the document."""

    def __init__(self, document: Document, case: Case) -> None:
        self._document = document
        self._case = case
        self.visits: list[Visit] = []
        self.changes: list[ContextChange] = []

    def walk(
        self, step_id: str, context: dict[str, Any], items: tuple[int, ...]
    ) -> FinishWorkflow | EndBranch | Fail | None:
        """Follow the routes from a step to the end of its list; None if it waits.

        Each branch and each item is a workflow of its own, which may hear every event once.
        """
        events = list(self._case.events)
        while True:
            step = self._document.step(step_id)
            place = len(self.visits)
            if place == MAX_VISITS:
                raise InvalidInput(
                    f"{self._document.workflow_id!r} takes more than {MAX_VISITS:,} steps with "
                    f"this context. Simulate it with shorter lists."
                )
            self.visits.append(Visit(step_id=step.id, type=step.type, ending=None, items=items))
            before = len(self.changes)
            details: list[str] = []
            try:
                ended = self._perform(step, context, items, details, events)
                context.update(apply_changes(context, self.changes[before:]))
            except _Waits:
                self.visits[place] = replace(self.visits[place], details=tuple(details))
                return None
            except ExpressionFailed as error:
                del self.changes[before:]  # a step that fails writes nothing
                ended = EndedStep(Ending.FAILED, str(error))
            self.visits[place] = Visit(
                step_id=step.id,
                type=step.type,
                ending=ended.ending,
                reason=ended.reason,
                details=tuple(details),
                items=items,
            )
            route = routes.route(self._document, step_id, ended)
            if not isinstance(route, GoTo):
                return route
            step_id = route.step_id

    def _perform(
        self,
        step: Step,
        context: dict[str, Any],
        items: tuple[int, ...],
        details: list[str],
        events: list[SimulatedEvent],
    ) -> EndedStep:
        if self._case.decisions.get(step.id) is SimulatedDecision.FAIL:
            return EndedStep(Ending.FAILED, f"Step {step.id!r} fails in this case.")
        match step:
            case ConditionStep():
                details += words.of_condition(step.condition, context)
                return EndedStep(Ending.TRUE if evaluate(step.condition, context) else Ending.FALSE)
            case ActionStep():
                return self._act(step, context, details)
            case ExecuteStep():
                self._execute(step.execute, context, details)
                return EndedStep(Ending.EXECUTED)
            case ApprovalStep():
                role, ask, _ = render([step.role, step.ask, step.show], context)
                details.append(f"asks {role}: {ask}" if ask else f"asks {role}")
                return self._decided(step)
            case WaitStep():
                return self._awaited(step, context, details, events)
            case ParallelStep():
                return self._parallel(step, context, items)
            case ForeachStep():
                return self._foreach(step, context, items)
            case WorkflowStep():
                render(step.context, context)
                details.append(f"would start {step.workflow}")
                return EndedStep(Ending.EXECUTED)
            case _:
                assert_never(step)

    def _act(self, step: ActionStep, context: dict[str, Any], details: list[str]) -> EndedStep:
        before = len(self.changes)
        self._execute(step.execute, context, details)
        here = apply_changes(context, self.changes[before:])
        reason = None if step.reason is None else str(render(step.reason, here))
        if step.requires is not None:
            details.append(f"asks {render(step.requires.role, here)}")
            return self._decided(step, reason)
        if step.action == "allow":
            return EndedStep(Ending.ALLOWED)
        return EndedStep(Ending.BLOCKED, reason)

    def _execute(
        self, actions: Sequence[AnyAction], context: dict[str, Any], details: list[str]
    ) -> None:
        here = context
        for action in actions:
            try:
                values = rendered(action, here)
                if isinstance(action, SetAction):
                    change = ContextChange(compile_set_path(action.path), values["value"])
                    here = apply_changes(here, [change])
                    self.changes.append(change)
                details.append(words.of_action(action, values))
            except ExpressionFailed as error:
                if not action.optional:
                    raise
                details.append(f"{action.type} failed: {error}")

    def _decided(self, step: ActionStep | ApprovalStep, reason: str | None = None) -> EndedStep:
        comment = self._case.comments.get(step.id, reason)
        match self._case.decisions.get(step.id):
            case SimulatedDecision.APPROVE:
                return EndedStep(Ending.APPROVED)
            case SimulatedDecision.REJECT:
                return EndedStep(Ending.REJECTED, comment)
            case SimulatedDecision.EXPIRE:
                return EndedStep(Ending.EXPIRED)
            case _:
                raise _Waits

    def _awaited(
        self,
        step: WaitStep,
        context: Mapping[str, Any],
        details: list[str],
        events: list[SimulatedEvent],
    ) -> EndedStep:
        if step.duration is not None:
            details.append(f"would wait {describe(step.duration)}")
            return EndedStep(Ending.EXECUTED)
        assert step.event is not None  # the validator ensures it
        key = None if step.key is None else str(render(step.key, context))
        details.append(f"listens to {step.event}" + (f" with the key {key}" if key else ""))
        for event in events:
            has_key = key is None or event.has_any_key or key == event.key
            is_heard = has_key and event_values.fits(event.type, step.event)
            if is_heard and self._matches(step, event, context):
                events.remove(event)  # an event satisfies one wait of a workflow
                return EndedStep(Ending.EXECUTED)
        if self._case.decisions.get(step.id) is SimulatedDecision.EXPIRE:
            return EndedStep(Ending.TIMED_OUT, f"No event arrived at {step.id!r} in time.")
        raise _Waits

    def _matches(self, step: WaitStep, event: SimulatedEvent, context: Mapping[str, Any]) -> bool:
        scope = {**context, "event": event.payload}
        return step.match is None or evaluate(step.match, scope)

    def _parallel(
        self, step: ParallelStep, context: dict[str, Any], items: tuple[int, ...]
    ) -> EndedStep:
        # Each branch begins with the context of this moment; their writes are merged in order.
        ends = [self.walk(first, dict(context), items) for first in routes.first_steps(step)]
        return routes.verdict(step, _branches(ends))

    def _foreach(
        self, step: ForeachStep, context: dict[str, Any], items: tuple[int, ...]
    ) -> EndedStep:
        found = render(step.items, context)
        if not isinstance(found, list | tuple):
            raise ExpressionFailed(
                f"The items of foreach {step.id!r} must be a list, got {type_name(found)}."
            )
        ends: list[EndBranch] = []
        before = len(self.changes)
        for index, item in enumerate(found):
            here = apply_changes(context, self.changes[before:])
            here[step.item_var] = item
            ends += _branches([self.walk(step.steps[0].id, here, (*items, index))])
            if not ends[-1].passed:
                break
        # The item variable ends with the loop, so changes to it are dropped.
        self.changes[before:] = [
            change for change in self.changes[before:] if change.path[0] != step.item_var
        ]
        return routes.verdict(step, ends)


def _branches(ends: Sequence[FinishWorkflow | EndBranch | Fail | None]) -> list[EndBranch]:
    if any(end is None for end in ends):
        raise _Waits
    return [end for end in ends if isinstance(end, EndBranch)]
