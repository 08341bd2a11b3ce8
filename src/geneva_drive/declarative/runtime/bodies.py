"""The bodies of a document's steps: functions of the running workflow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from geneva_drive.declarative.action_types import AnyAction
from geneva_drive.declarative.actions import registry
from geneva_drive.declarative.actions.changes import ContextChange, apply_changes
from geneva_drive.declarative.actions.execution import ActionTerms, Executed, execute, load_context
from geneva_drive.declarative.condition import evaluate
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.routes import EndedStep, Ending
from geneva_drive.declarative.runtime.step_end import Prepared, StepEnd
from geneva_drive.declarative.steps import (
    ActionStep,
    ApprovalStep,
    ConditionStep,
    ExecuteStep,
    WaitStep,
    WorkflowStep,
)
from geneva_drive.declarative.templates import render
from geneva_drive.definition.dynamic.document_workflow import DocumentRun
from geneva_drive.definition.waits.approval_decision import ApprovalDecision
from geneva_drive.definition.waits.event import Event
from geneva_drive.errors import UnknownAction


def load(document: Document, run: DocumentRun) -> StepEnd:
    """Call the loaders; each fills its key of the context."""
    for name in document.context.load:
        registry.require_loader(name)
    loaded = load_context(document, run.scope)
    changes = tuple(ContextChange((name,), loaded[name]) for name in document.context.load)
    return StepEnd(EndedStep(Ending.EXECUTED), changes)


def test(step: ConditionStep, run: DocumentRun) -> StepEnd:
    return StepEnd(EndedStep(Ending.TRUE if evaluate(step.condition, run.scope) else Ending.FALSE))


def run_actions(step: ExecuteStep, run: DocumentRun) -> StepEnd:
    return _end(EndedStep(Ending.EXECUTED), _execute(step.id, step.execute, run))


def act(step: ActionStep, run: DocumentRun) -> StepEnd:
    executed = _execute(step.id, step.execute, run)
    reason = _reason(step, apply_changes(run.scope, executed.changes))
    if step.action == "allow":
        return _end(EndedStep(Ending.ALLOWED), executed)
    return _end(EndedStep(Ending.BLOCKED, reason), executed)


def prepare(step: ActionStep, run: DocumentRun) -> Prepared:
    """Run the actions of a step that then asks a person."""
    executed = _execute(step.id, step.execute, run)
    prepared = run.prepared = Prepared(executed.changes, _records(executed))
    return prepared


def role(step: ActionStep | ApprovalStep, run: DocumentRun) -> str:
    given = step.role if isinstance(step, ApprovalStep) else None
    if isinstance(step, ActionStep) and step.requires is not None:
        given = step.requires.role
    return str(render(given, _scope(run)))


def question(step: ActionStep | ApprovalStep, run: DocumentRun) -> str:
    given = step.ask if isinstance(step, ApprovalStep) else step.reason
    return str(render(given or step.name or step.id, _scope(run)))


def _scope(run: DocumentRun) -> dict[str, Any]:
    """Return the context with what the actions before a request have set."""
    changes = () if run.prepared is None else run.prepared.changes
    return apply_changes(run.scope, changes)


def facts(step: ApprovalStep, run: DocumentRun) -> dict[str, Any]:
    found: dict[str, Any] = render(step.show or {}, run.scope)
    return found


def decided(
    step: ActionStep | ApprovalStep, run: DocumentRun, decision: ApprovalDecision[Any]
) -> StepEnd:
    if decision.expired:
        return StepEnd(EndedStep(Ending.EXPIRED))
    if decision.approved:
        return StepEnd(EndedStep(Ending.APPROVED))
    reason = decision.comment
    if reason is None and isinstance(step, ActionStep):
        reason = _reason(step, run.scope)
    return StepEnd(EndedStep(Ending.REJECTED, reason))


def over(_run: DocumentRun) -> StepEnd:
    """The moment of a wait has come."""
    return StepEnd(EndedStep(Ending.EXECUTED))


def moment(step: WaitStep, run: DocumentRun) -> datetime:
    assert step.duration is not None, "it waits for no event"
    return run.now + step.duration


def heard(_run: DocumentRun, _event: Event) -> StepEnd:
    return StepEnd(EndedStep(Ending.EXECUTED))


def event_key(step: WaitStep, run: DocumentRun) -> str:
    return str(render(step.key, run.scope))


def matches(step: WaitStep, run: DocumentRun, event: Event) -> bool:
    assert step.match is not None, "called only for a wait with a match"
    return evaluate(step.match, {**run.scope, "event": event.payload})


def child_context(step: WorkflowStep, run: DocumentRun) -> dict[str, Any]:
    found: dict[str, Any] = render(step.context or {}, run.scope)
    return found


def _execute(step_id: str, actions: Sequence[AnyAction], run: DocumentRun) -> Executed:
    for action in actions:
        # Check before any action has an effect: another worker may know all of them.
        if not action.optional and not registry.has_action(action.type):
            raise UnknownAction("action", action.type)
    terms = ActionTerms(
        # The same for each attempt, so that the receiver recognizes a repetition.
        message_id=f"msg_{run.id}_{step_id}",
        webhook_secret=run.settings.webhook_secret,
        webhook_allowed_hosts=run.settings.webhook_allowed_hosts,
        now=lambda: run.now,
    )
    return execute(actions, run.scope, terms)


def _records(executed: Executed) -> tuple[dict[str, Any], ...]:
    return tuple(record.stored() for record in executed.records)


def _end(ended: EndedStep, executed: Executed) -> StepEnd:
    return StepEnd(ended, executed.changes, _records(executed))


def _reason(step: ActionStep, scope: dict[str, Any]) -> str | None:
    return None if step.reason is None else str(render(step.reason, scope))
