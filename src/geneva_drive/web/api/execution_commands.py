"""What operators do with executions: pause, resume, cancel, skip, and repairs of steps."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field, model_validator

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.drive.views.execution_bodies import execution_body, step_body
from geneva_drive.errors import InvalidInput
from geneva_drive.web.messages import execution_answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import Body, CurrentActor, CurrentDrive, find
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/executions", tags=["executions"])

_CHANGED = answered(execution_answers.Execution, 404, 409)


class Reason(Body):
    """The reason for a command, for the audit trail."""

    reason: str | None = Field(default=None, examples=["The customer called."])


class Resumption(Reason):
    """How to continue a workflow."""

    data: dict[str, Any] | None = Field(default=None, description="Merged into the context.")
    metadata: dict[str, Any] | None = Field(default=None, description="Another name for data.")
    at: str | None = Field(default=None, description="The step at which it continues.")

    @model_validator(mode="after")
    def _is_clear(self) -> Resumption:
        if self.data is not None and self.metadata is not None:
            raise ValueError("data and metadata mean the same; pass one of them")
        if self.at is not None and (self.data is not None or self.metadata is not None):
            raise ValueError("at cannot be combined with data")
        return self


class Cancellation(Reason):
    """How to cancel a workflow."""

    force: bool = Field(default=False, description="Drop the result of a running step.")


class Skip(Reason):
    """The step to skip."""

    node: str | None = Field(
        default=None, description="Its name or id; by default the next or failed one."
    )


class Repair(Reason):
    """A repair of a step."""

    action_type: Literal[
        "reset_for_retry", "resolve_manually", "complete_manually", "reattempt", "rewind"
    ]
    reset_checkpoint: bool = False
    result: Any = Field(default=None, description="For complete_manually.")
    to: Any = Field(default=None, description="For rewind: the cursor.")


# The body is optional.
_NO_REASON, _PLAIN_RESUMPTION = Reason(), Resumption()
_PLAIN_CANCELLATION, _PLAIN_SKIP = Cancellation(), Skip()


@router.post("/{id}/pause", operation_id="pause_execution", responses=_CHANGED)
def pause(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Reason = _NO_REASON
) -> JSONResponse:
    """Pause a workflow; a running step finishes first."""
    return JSONResponse(execution_body(find(drive, id).pause(body.reason, actor.id)))


@router.post("/{id}/resume", operation_id="resume_execution", responses=_CHANGED)
def resume(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Resumption = _PLAIN_RESUMPTION
) -> JSONResponse:
    """Continue a paused workflow; a failed step runs again."""
    workflow = find(drive, id)
    if body.at is not None:
        workflow.resume_at(body.at, body.reason, actor.id)
    else:
        data = body.metadata if body.data is None else body.data
        workflow.resume(data, body.reason, actor.id)
    return JSONResponse(execution_body(workflow))


@router.post("/{id}/cancel", operation_id="cancel_execution", responses=_CHANGED)
def cancel(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Cancellation = _PLAIN_CANCELLATION
) -> JSONResponse:
    """Cancel a workflow; a running step finishes first, unless forced."""
    workflow = find(drive, id).cancel(body.force, body.reason, actor.id)
    return JSONResponse(execution_body(workflow))


@router.post("/{id}/skip", operation_id="skip_step", responses=_CHANGED)
def skip(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Skip = _PLAIN_SKIP
) -> JSONResponse:
    """Skip the next or failed step and continue after it."""
    return JSONResponse(execution_body(find(drive, id).skip(body.node, body.reason, actor.id)))


@router.patch(
    "/{id}/steps/{step}",
    operation_id="repair_step",
    responses=answered(execution_answers.Step, 404, 409),
)
def repair_step(
    drive: CurrentDrive, actor: CurrentActor, id: str, step: str, body: Repair
) -> JSONResponse:
    """Repair a step: retry it, count it as done, or start it over."""
    workflow = find(drive, id)
    _repair(workflow, step, body, actor.id)
    return JSONResponse(step_body(_latest(drive, workflow, step)))


def _repair(workflow: WorkflowHandle[Any], step: str, body: Repair, actor: str) -> None:
    reason = body.reason
    if body.reset_checkpoint and body.action_type not in ("reset_for_retry", "reattempt"):
        raise InvalidInput("reset_checkpoint is only for reset_for_retry and reattempt.")
    match body.action_type:
        case "reset_for_retry":
            workflow.reset_for_retry(step, body.reset_checkpoint, actor=actor, reason=reason)
        case "resolve_manually":
            workflow.resolve_manually(step, actor=actor, reason=reason)
        case "complete_manually":
            workflow.complete_manually(step, result=body.result, actor=actor, reason=reason)
        case "reattempt":
            workflow.reattempt(step, body.reset_checkpoint, reason=reason, actor=actor)
        case "rewind":
            workflow.rewind(step, body.to, reason=reason, actor=actor)


def _latest(drive: Drive, workflow: WorkflowHandle[Any], step: str) -> StepExecution:
    """Return the latest attempt at a step, which the command may have added."""
    store = drive.store
    found = store.read(lambda c: store.attempts.latest(c, [(workflow.id, step)]))
    if found:
        return drive.open_execution(found[-1])
    name = workflow.name_of(step)
    return [one for one in workflow.step_executions if name in (one.step_name, one.node_id)][-1]
