"""The bodies of responses about executions and approvals, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from geneva_drive.web.messages.answers import AT, Id, ResponseBody


class ExecutionItem(ResponseBody):
    """A workflow, as lists show it; with `include=context`, the context too."""

    id: Id = Field(examples=[41])
    type: str | None = Field(description="Null for a dynamic workflow.", examples=["Refund"])
    template: str | None = Field(default=None, description="Of a dynamic workflow.")
    state: str = Field(examples=["paused"])
    needs: str = Field(
        description="Who acts next: operator, worker, person, event, child, timer or none.",
        examples=["person"],
    )
    started_by: str | None = Field(examples=["billing"])
    parent_id: Id | None = None
    queue: str = Field(examples=["default"])
    priority: int = Field(examples=[0])
    requested: str | None = Field(
        default=None, description="A pause or cancel that takes effect when the running step ends."
    )
    result: Any = None
    result_reason: str | None = Field(
        default=None, description="Why a workflow of a document was blocked."
    )
    definition_version: str | None = Field(
        default=None, description="The version of its document.", examples=["1.0.0"]
    )
    hero_type: str | None = Field(examples=["Order"])
    hero_id: str | None = Field(examples=["42"])
    paused_at: str | None = Field(examples=[AT])
    paused_reason: str | None = Field(examples=["approval_required"])
    paused_step_name: str | None = Field(examples=["manager_approval"])
    next_step_name: str | None = Field(examples=["manager_approval"])
    created_at: str = Field(examples=[AT])
    updated_at: str = Field(examples=[AT])
    started_at: str | None = Field(examples=[AT])
    finished_at: str | None = None
    canceled_at: str | None = None
    why: str = Field(examples=["Step 'manager_approval' waits for a decision on approval 7."])
    bulk: dict[str, Any] | None = Field(
        default=None, description="The command and the counts of a bulk; null for others."
    )


class Execution(ExecutionItem):
    """A workflow."""

    context: dict[str, Any] = Field(examples=[{"amount": 120, "customer": "Ann"}])


class ExecutionStatus(ResponseBody):
    """The state of a workflow, and what it waits for."""

    id: Id = Field(examples=[41])
    state: str = Field(examples=["paused"])
    needs: str = Field(examples=["person"])
    why: str = Field(examples=["Step 'manager_approval' waits for a decision on approval 7."])
    requested: str | None = None
    paused_at: str | None = Field(default=None, examples=[AT])
    paused_reason: str | None = Field(default=None, examples=["approval_required"])
    paused_step_name: str | None = Field(default=None, examples=["manager_approval"])
    next_step_name: str | None = Field(default=None, examples=["manager_approval"])
    started_at: str | None = Field(default=None, examples=[AT])
    finished_at: str | None = None
    canceled_at: str | None = None


class Progress(ResponseBody):
    """The progress of a loop or a batch worker."""

    done: int = Field(examples=[1200])
    total: int | None = Field(examples=[5000])
    unit: str = Field(examples=["items"])
    rate: float | None = Field(description="Per second.")
    remaining_seconds: float | None


class Step(ResponseBody):
    """One attempt at a step."""

    id: Id = Field(examples=[97])
    workflow_id: Id = Field(examples=[41])
    step_name: str = Field(examples=["charge"])
    node_id: str = Field(examples=["charge"])
    attempt_number: int = Field(examples=[1])
    state: str = Field(examples=["completed"])
    outcome: str | None = Field(examples=["success"])
    queue: str = Field(examples=["default"])
    priority: int
    worker_id: str | None
    scheduled_for: str = Field(examples=[AT])
    started_at: str | None = None
    finished_at: str | None = None
    completed_at: str | None = None
    failed_at: str | None = None
    skipped_at: str | None = None
    canceled_at: str | None = None
    error_class: str | None = Field(default=None, examples=["ConnectionError"])
    error_message: str | None = None
    error_backtrace: str | None = None
    result: Any = None
    metadata: dict[str, Any]
    cursor: Any = None
    approval_id: Id | None = None
    completed_iterations: int
    progress: Progress | None = None


class Interruption(ResponseBody):
    """An interruption of a loop."""

    reason: str
    cursor: Any
    completed_iterations: int
    at: str


class SkippedItem(ResponseBody):
    """An item that raised and was skipped."""

    item: str | None
    cursor: Any
    error_class: str | None
    error_message: str | None
    at: str


class TracedStep(Step):
    """One attempt at a step, with what happened to its loop."""

    interruptions: list[Interruption]
    skipped_items: list[SkippedItem]


class ResumeRequest(ResponseBody):
    """A request that let a paused workflow continue."""

    trigger: str = Field(examples=["approval"])
    trigger_id: str | None = Field(description="The approval, event or actor.", examples=["7"])
    actor: str | None
    data: dict[str, Any] | None
    requested_at: str
    executed_at: str | None
    error: str | None


class ResumeOptions(ResponseBody):
    """The actions that would continue a paused workflow."""

    actions: list[str] = Field(examples=[["approve", "reject", "cancel"]])


class AuditEntry(ResponseBody):
    """An action on a workflow, a schedule or an event, and who took it."""

    id: Id | None = None
    workflow_id: Id | None = None
    approval_id: Id | None = None
    subject: str | None = Field(
        default=None, description="The type of a schedule, or the number of an event."
    )
    command: str = Field(examples=["pause"])
    actor: str | None = Field(examples=["ann@example.org"])
    reason: str | None = None
    at: str = Field(examples=[AT])


class Graph(ResponseBody):
    """The nodes of a workflow with their states, and the edges between them."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, str]] = Field(examples=[[{"from": "pack", "to": "ship"}]])


class ApprovalItem(ResponseBody):
    """A request for approval, as lists show it."""

    id: Id = Field(examples=[7])
    workflow_id: Id = Field(examples=[41])
    step_name: str = Field(examples=["manager_approval"])
    title: str | None = Field(examples=["Refund 120.00 to Ann?"])
    facts: dict[str, Any] = Field(examples=[{"customer": "Ann"}])
    initial: dict[str, Any] = Field(examples=[{"amount": 120}])
    role: str | None = Field(examples=["sales_manager"])
    approvers: list[str]
    choices: list[str] = Field(examples=[["approve", "reject"]])
    quorum: int = Field(examples=[1])
    state: str = Field(examples=["pending"])
    requested_at: str = Field(examples=[AT])
    expires_at: str | None = None
    decided_at: str | None = None
    decided_by: str | None = None
    choice: str | None = None
    comment: str | None = None
    data: Any = None


class Vote(ResponseBody):
    """The choice of one person."""

    by: str = Field(examples=["ann@example.org"])
    choice: str = Field(examples=["approve"])
    comment: str | None
    data: Any
    at: str


class Approval(ApprovalItem):
    """A request for approval, with its votes and history."""

    votes: list[Vote]
    history: list[AuditEntry]


class Trace(ResponseBody):
    """A workflow with every attempt at every step."""

    execution: Execution
    steps: list[TracedStep]
    approvals: list[Approval]
    resume_requests: list[ResumeRequest]
