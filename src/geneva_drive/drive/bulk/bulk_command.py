"""The commands of a bulk, each as a decision about one workflow."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.command import Decision
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commands.passed_step import SKIP
from geneva_drive.engine.commands.pause import pause
from geneva_drive.engine.commands.repair import pass_over, reattempt
from geneva_drive.engine.commands.resume import resume
from geneva_drive.engine.transitions.change import Change, ResumeRequest
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import ResumeTrigger


class BulkCommand(StrEnum):
    """What a bulk does with each workflow."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    SKIP = "skip"  # the step that is next or failed
    REATTEMPT = "reattempt"  # the step that failed
    RESET_FOR_RETRY = "reset_for_retry"  # the step that failed


# After one of these, a step runs, which may fail again.
CONTINUING = frozenset(BulkCommand) - {BulkCommand.PAUSE, BulkCommand.CANCEL}


def decision_of(
    command: BulkCommand, *, step: str | None, actor: str | None, reason: str | None
) -> Decision:
    """Return the function that applies the command to one workflow, or to its step `step`."""
    match command:
        case BulkCommand.PAUSE:
            return lambda subject: pause(subject, reason)
        case BulkCommand.RESUME:
            return lambda subject: _resume(subject, actor)
        case BulkCommand.CANCEL:
            return lambda subject: cancel(subject, reason, force=False)
        case BulkCommand.SKIP:
            return lambda subject: pass_over(subject, step, SKIP)
        case BulkCommand.REATTEMPT:
            return lambda subject: _again(subject, step, "reattempt")
        case BulkCommand.RESET_FOR_RETRY:
            return lambda subject: _again(subject, step, "reset")
        case _:
            assert_never(command)


def _resume(subject: CommandedWorkflow, actor: str | None) -> Change:
    request = ResumeRequest(
        trigger=ResumeTrigger.MANUAL, trigger_id=actor, actor=actor, data=None, is_executed=True
    )
    return replace(resume(subject), resume=request)


def _again(subject: CommandedWorkflow, step: str | None, verb: str) -> Change:
    """Run the failed step again. A running step is left to its worker."""
    workflow = subject.workflow
    name = step or workflow.paused_step_name or workflow.next_step_name
    if name is None:
        raise InvalidStateError(f"Cannot {verb} a step of this workflow: none has failed.")
    if any(one.step_name == name for one in subject.active if one is subject.running):
        raise subject.refusal_while_running(verb)
    return reattempt(subject, name, rewind=False, verb=verb)
