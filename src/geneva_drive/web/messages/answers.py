"""The bodies of responses, for the OpenAPI document.

Routes respond with the bodies of `drive.views.bodies`, which the command line prints too. These
classes only describe them; they do not run for each response.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

Id = int | str
AT = "2026-01-31T09:00:00Z"


class ResponseBody(BaseModel):
    model_config = ConfigDict(extra="allow")


class Fault(ResponseBody):
    """One fault of a request."""

    path: str = Field(examples=["body.context.amount"])
    message: str = Field(examples=["Input should be a valid integer"])


class Problem(ResponseBody):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["urn:geneva-drive:problem:invalid_state"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    code: str = Field(
        description="For programs: it stays the same when the text changes.",
        examples=["invalid_state"],
    )
    detail: str = Field(examples=["Workflow 41 is finished and cannot be paused."])
    errors: list[Fault] = Field(default=[], description="Each fault of a request, with its path.")
    existing_id: Id | None = Field(default=None, description="For already_running: the other one.")
    permission: str | None = Field(default=None, description="For forbidden: what is missing.")


class ListOf(ResponseBody, Generic[T]):
    """A page of a list."""

    items: list[T]
    next_cursor: str | None = Field(examples=["41"])


class Event(ResponseBody):
    """A published event."""

    number: Id = Field(description="Given by GenevaDrive.", examples=[12])
    id: str = Field(description="Given by the publisher, unique for its source.", examples=["a-1"])
    source: str = Field(examples=["api"])
    type: str = Field(examples=["payment.received"])
    key: str | None = Field(examples=["42"])
    payload: Any = None
    published_at: str = Field(examples=[AT])
    expires_at: str | None


class HeardEvent(Event):
    """An event, and the ids of the workflows that heard it."""

    duplicate: bool
    started: list[Id]
    continued: list[Id] = Field(examples=[[41]])
    near_misses: list[Id] = Field(description="They wait for the type, with another key.")
    refused: dict[str, str] = Field(description="Workflows that it could not start, and why.")


class CallbackReceipt(ResponseBody):
    """Whether the callback had been received before."""

    duplicate: bool


class LastFailure(ResponseBody):
    """The step, error class and message of a failure, which make its group."""

    step: str
    error_class: str | None
    message: str


class DeadLetter(ResponseBody):
    """A workflow that needs, or needed, an operator."""

    id: Id = Field(examples=[3])
    workflow_id: Id = Field(examples=[41])
    step_name: str | None = Field(examples=["charge"])
    reason: str = Field(examples=["max_retries_exceeded"])
    state: str = Field(examples=["pending"])
    snapshot: dict[str, Any]
    failure: LastFailure | None
    created_at: str = Field(examples=[AT])
    resolved_at: str | None
    resolved_by: str | None
    notes: str | None


class FailureGroup(ResponseBody):
    """Failures of one step with one error, whose workflows have the same standing."""

    type: str | None = Field(examples=["Refund"])
    step: str = Field(examples=["charge"])
    error_class: str | None = Field(examples=["builtins.TimeoutError"])
    message: str = Field(examples=["The bank did not answer within <number> s."])
    standing: str = Field(examples=["paused"])
    count: int = Field(examples=[412])
    is_count_exact: bool
    first: str = Field(examples=[AT])
    last: str = Field(examples=[AT])
    where: dict[str, str] = Field(description="The filters for exactly these workflows.")
    sample_ids: list[Id]


class BulkSample(ResponseBody):
    """A workflow that matches the filters of a bulk."""

    id: Id
    type: str | None = Field(examples=["Refund"])
    state: str = Field(examples=["paused"])


class BulkPreview(ResponseBody):
    """The workflows that match the filters of a bulk."""

    count: int = Field(examples=[412])
    sample: list[BulkSample]


class StartedBulk(ResponseBody):
    """The workflow that gives the command to the others."""

    id: Id = Field(examples=[42])


class ScheduleRun(ResponseBody):
    """A run of a schedule."""

    type: str = Field(examples=["Report"])
    at: str = Field(examples=[AT])
    state: str = Field(examples=["started"])
    workflow_id: Id | None = None
    skipped_reason: str | None = None
    blocked_by: Id | None = None
    is_manual: bool
    actor: str | None = None
    recorded_at: str
    started_at: str | None = None


class Schedule(ResponseBody):
    """The schedule of a workflow class."""

    type: str = Field(examples=["Report"])
    cron: str = Field(examples=["0 9 * * 1-5"])
    timezone: str = Field(examples=["Europe/Amsterdam"])
    overlap: str = Field(examples=["skip"])
    missed: str = Field(examples=["latest"])
    jitter_seconds: float | None
    next_at: str | None = None
    paused_at: str | None = None
    paused_by: str | None = None
    paused_reason: str | None = None
    seen_at: str | None
    queued_count: int
    last_run: ScheduleRun | None = None


class Worker(ResponseBody):
    """A worker process."""

    id: str
    name: str = Field(examples=["laptop:4002"])
    queues: list[str] | None = Field(description="Null if it serves all queues.")
    types: list[str] = Field(examples=[["Refund"]])
    is_alive: bool
    started_at: str = Field(examples=[AT])
    heartbeat_at: str = Field(examples=[AT])
    stopped_at: str | None
    trouble: str | None = Field(description="The database error that it waits out.")


class Queue(ResponseBody):
    """A queue, with the executions that are due or running."""

    queue: str = Field(examples=["default"])
    due: int
    oldest_due_at: str | None
    running: int


class WorkflowDefinition(ResponseBody):
    """A workflow that can be started."""

    name: str = Field(examples=["Refund"])
    kind: str = Field(examples=["class"])
    steps: list[dict[str, str]]


class Health(ResponseBody):
    """Whether the server works."""

    status: str = Field(examples=["ok"])
