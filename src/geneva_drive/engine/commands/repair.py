"""The commands that repair a step: reattempt it, rewind it or pass over it."""

from __future__ import annotations

from dataclasses import replace

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.commands import graph_commands
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow, check_rewindable
from geneva_drive.engine.commands.passed_step import PassedStep
from geneva_drive.engine.commands.resume import resume_at
from geneva_drive.engine.transitions.change import Change, NewExecution, unchanged
from geneva_drive.engine.transitions.holds import cancel_executions, skip_executions
from geneva_drive.engine.transitions.loop_position import LoopPosition, carried_over
from geneva_drive.errors import InvalidStateError, StepVanished
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    UNDONE_STEP_STATES,
    Outcome,
    Request,
    StepState,
    WorkflowState,
    is_done,
)

_RESUME_AT = "use `resume_at` in code or `geneva resume ID --at STEP` in the shell"


def reattempt(
    subject: CommandedWorkflow, step: object, *, rewind: bool, verb: str = "reattempt"
) -> Change:
    """Run a failed or canceled step again, from its cursor or, with `rewind`, from the start."""
    if subject.nodes is not None:
        return graph_commands.reattempt(subject, subject.nodes, step, rewind=rewind, verb=verb)
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal(f"{verb} a step of")
    definition = subject.require_definition()
    node = definition.require(step)
    _check_undone(subject, node, verb, f"To go on at a step of your choice, {_RESUME_AT}.")
    _check_nothing_done_after(subject, definition, node, verb)
    change = resume_at(subject, step)
    if not rewind:
        return change
    fresh = subject.plan(definition, node, subject.now)
    return replace(change, schedule=(fresh,))


def _check_undone(subject: CommandedWorkflow, node: Node, verb: str, way_out: str) -> None:
    partitions = [
        one for one in subject.unfinished_partitions(node) if one.state is StepState.FAILED
    ]
    latest = partitions[0] if partitions else subject.latest(node)
    if latest is None or latest.state not in UNDONE_STEP_STATES:
        state = "has not been reached" if latest is None else f"is {latest.state}"
        raise InvalidStateError(
            f"Cannot {verb} step {node.name!r}: it {state}, neither failed nor canceled. {way_out}"
        )


def _check_nothing_done_after(
    subject: CommandedWorkflow, definition: Definition, node: Node, verb: str
) -> None:
    if definition.is_document:
        _check_nothing_done_since(subject, node, verb)
        return
    following = definition.after(node.name)
    while following is not None:
        later = subject.latest(following)
        if later is not None and is_done(later.state, later.outcome):
            raise InvalidStateError(
                f"Cannot {verb} step {node.name!r}: step {following.name!r} after it is "
                f"{later.state} already. To go back anyway, {_RESUME_AT}."
            )
        following = definition.after(following.name)


def _check_nothing_done_since(subject: CommandedWorkflow, node: Node, verb: str) -> None:
    """Refuse a document's step if any other was done later: its steps have no fixed order."""
    own = subject.latest(node)
    for one in subject.attempts:
        is_later = own is not None and one.created_at > own.created_at
        if is_later and is_done(one.state, one.outcome):
            raise InvalidStateError(
                f"Cannot {verb} step {node.name!r}: step {one.step_name!r} after it is "
                f"{one.state} already. To go back anyway, {_RESUME_AT}."
            )


def rewind(subject: CommandedWorkflow, step: object, position: LoopPosition | None) -> Change:
    """Move a resumable step to `position` or its start; a paused workflow stays paused."""
    workflow = subject.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("rewind a step of")
    if subject.nodes is not None:
        return graph_commands.rewind(subject, subject.nodes, step, position)
    definition = subject.require_definition()
    present = _present_step(subject, definition, step, "rewind")
    check_rewindable(present, position)
    is_held = workflow.state is WorkflowState.PAUSED
    planned = replace(
        subject.plan(definition, present, subject.now),
        position=position,
        stop=Request.PAUSE if is_held else None,
    )
    return Change(
        record=workflow,
        workflow=unchanged(subject.workflow),
        executions=cancel_executions(subject.active),
        schedule=(planned,),
    )


def pass_over(subject: CommandedWorkflow, step: object | None, passage: PassedStep) -> Change:
    """Pass over the step that is next or has failed, and continue with the one after it."""
    workflow = subject.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal(f"{passage.verb} a step of")
    if subject.nodes is not None:
        return graph_commands.pass_over(subject, subject.nodes, step, passage)
    definition = subject.require_definition()
    present = _present_step(subject, definition, step, passage.verb)
    passage.check(present)
    if passage.is_manual:
        _check_undone(subject, present, passage.verb, "To pass over it, use skip.")
    following = definition.after(present.name)
    return Change(
        record=workflow,
        workflow=unchanged(
            subject.workflow,
            state=WorkflowState.READY if following else WorkflowState.FINISHED,
            next_step_name=following.name if following else None,
            previous_step_name=present.name,
            paused_reason=None,
            paused_step_name=None,
        ),
        executions=skip_executions(subject.active, Outcome.SKIPPED_BY_OPERATOR),
        schedule=_recorded(subject, definition, present, passage)
        + _next(subject, definition, following, present),
    )


def _present_step(
    subject: CommandedWorkflow, definition: Definition, step: object | None, verb: str
) -> Node:
    """Return the step that is next; refuse another step, and a running one."""
    wanted = None if step is None else definition.require(step)
    if subject.running:
        raise subject.refusal_while_running(verb)
    name = subject.workflow.next_step_name or ""
    present = definition.get(name)
    if present is None:
        raise StepVanished(definition.type, name, definition.step_names)
    if wanted is not None and wanted is not present:
        raise InvalidStateError(
            f"Cannot {verb} step {definition.name_of(step)!r}: the workflow is at step {name!r}."
        )
    return present


def _recorded(
    subject: CommandedWorkflow, definition: Definition, node: Node, passage: PassedStep
) -> tuple[NewExecution, ...]:
    """Plan the attempts that record that the step was passed over."""
    if passage.is_manual:
        # One attempt at the whole step, even if it was divided: it has one result.
        whole = subject.plan(definition, node, subject.now)
        return (passage.record(replace(whole, position=carried_over(subject.latest(node)))),)
    if subject.active and not subject.unfinished_partitions(node):
        return ()  # the scheduled execution itself is skipped
    return tuple(map(passage.record, subject.plan_attempts(definition, node)))


def _next(
    subject: CommandedWorkflow, definition: Definition, following: Node | None, passed: Node
) -> tuple[NewExecution, ...]:
    if following is None:
        return ()
    at = subject.now + following.options.wait
    return (subject.plan(definition, following, at, passed=passed),)
