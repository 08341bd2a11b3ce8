"""The JSON bodies that `--json` prints and the REST API returns.

The REST API calls a workflow an execution.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from geneva_drive.drive.approvals.approval import Approval, ApprovalVote
from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.drive.bulk.progress import BulkProgress
from geneva_drive.drive.explanation.explanation import explain_many, explain_new
from geneva_drive.drive.failures.message_pattern import normalised
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.publication import HeardBy, PublishedEvent
from geneva_drive.drive.schedules import Schedule, ScheduleRun
from geneva_drive.drive.step_execution import Checkpoint, FailedItem, StepExecution
from geneva_drive.drive.views.kept_checkpoints import interruptions, skipped_items
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.masked_fields import mask_text
from geneva_drive.storage.schema.records import AuditRecord, DeadLetterRecord, WorkerRecord
from geneva_drive.storage.schema.waits.approval_records import ResumeRequestRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


def execution_body(workflow: WorkflowHandle[Any], why: str | None = None) -> dict[str, Any]:
    """Return the body of a workflow; pass `why` if it is known, to save its queries."""
    bulk = workflow.bulk
    return {
        "id": key_body(workflow.id),
        "type": workflow.type,
        "template": workflow.template,
        "definition_version": workflow.definition_version,
        "state": workflow.state,
        "needs": workflow.needs,
        "started_by": workflow.started_by,
        "parent_id": optional_key_body(workflow.parent_id),
        "queue": workflow.queue,
        "priority": workflow.priority,
        "requested": workflow.requested,
        "result": _stored(workflow.stored_result),
        "result_reason": workflow.result_reason,
        "hero_type": workflow.hero_type,
        "hero_id": workflow.hero_id,
        "context": _stored(workflow.stored_context),
        "paused_at": moment_body(workflow.paused_at),
        "paused_reason": workflow.paused_reason,
        "paused_step_name": workflow.paused_step_name,
        "next_step_name": workflow.next_step_name,
        "created_at": moment_body(workflow.created_at),
        "updated_at": moment_body(workflow.updated_at),
        "started_at": moment_body(workflow.started_at),
        "finished_at": moment_body(workflow.finished_at),
        "canceled_at": moment_body(workflow.canceled_at),
        "why": workflow.why() if why is None else why,
        **({} if bulk is None else {"bulk": bulk_body(bulk)}),
    }


def execution_bodies(
    drive: Drive, workflows: Sequence[WorkflowHandle[Any]]
) -> list[dict[str, Any]]:
    """Return the bodies of a page of workflows that `search` has read."""
    whys = explain_many(drive, [one.standing for one in workflows])
    return [execution_body(one, why) for one, why in zip(workflows, whys, strict=True)]


def created_body(
    drive: Drive, workflow: WorkflowHandle[Any], workers: list[WorkerRecord]
) -> dict[str, Any]:
    """Return the body of what `create` returned; a new workflow is shown as it was created."""
    if workflow.was_known:
        return execution_bodies(drive, [workflow])[0]
    record, firsts = workflow.as_created().standing
    return execution_body(workflow, explain_new(drive, record, firsts, workers))


def event_item_body(event: PublishedEvent) -> dict[str, Any]:
    """Return an event without its effects, which take queries."""
    return {
        "number": key_body(event.number),
        "id": event.id,
        "source": event.source,
        "type": event.type,
        "key": event.key,
        "payload": _stored(event.stored_payload),
        "published_at": moment_body(event.published_at),
        "expires_at": moment_body(event.expires_at),
    }


def event_body(event: PublishedEvent, heard: HeardBy) -> dict[str, Any]:
    return {
        **event_item_body(event),
        "duplicate": event.duplicate,
        "started": [key_body(one) for one in heard.started],
        "continued": [key_body(one) for one in heard.continued],
        "near_misses": [key_body(one) for one in heard.near_misses],
        "refused": dict(heard.refused),
    }


def body_with_children(workflow: WorkflowHandle[Any]) -> dict[str, Any]:
    # Only for a single workflow: finding children reads all its executions.
    children = [key_body(child_id) for child_id in workflow.child_ids]
    return {**execution_body(workflow), "children": children}


def bulk_body(bulk: BulkProgress) -> dict[str, Any]:
    """Return the order of a bulk, and its counts."""
    return {
        **asdict(bulk),
        "first_ids": list(bulk.first_ids),
        "failed_ids": list(bulk.failed_ids),
    }


def step_body(execution: StepExecution) -> dict[str, Any]:
    return {
        "id": key_body(execution.id),
        "workflow_id": key_body(execution.workflow_id),
        "step_name": execution.step_name,
        "node_id": execution.node_id,
        "attempt_number": execution.attempt_number,
        "state": execution.state,
        "outcome": execution.outcome,
        "queue": execution.queue,
        "priority": execution.priority,
        "worker_id": execution.worker_id,
        "scheduled_for": moment_body(execution.scheduled_for),
        "started_at": moment_body(execution.started_at),
        "finished_at": moment_body(execution.finished_at),
        "completed_at": moment_body(execution.completed_at),
        "failed_at": moment_body(execution.failed_at),
        "skipped_at": moment_body(execution.skipped_at),
        "canceled_at": moment_body(execution.canceled_at),
        "error_class": execution.error_class,
        "error_message": execution.error_message,
        "error_backtrace": execution.error_backtrace,
        "result": _stored(execution.stored_result),
        "metadata": _stored(execution.stored_metadata),
        "cursor": _stored(execution.stored_cursor),
        "approval_id": optional_key_body(execution.approval_id),
        "completed_iterations": execution.completed_iterations,
        "progress": progress_body(execution.progress),
    }


def loop_body(kept: Sequence[Checkpoint]) -> dict[str, Any]:
    """Return the interruptions and skipped items of a resumable step or a batch worker."""
    return {
        "interruptions": [
            {
                "reason": one.reason,
                "cursor": _stored(one.stored_cursor),
                "completed_iterations": one.completed_iterations,
                "at": moment_body(one.at),
            }
            for one in interruptions(kept)
        ],
        "skipped_items": [
            {
                "item": one.item,
                "cursor": _stored(one.stored_cursor),
                "error_class": one.error_class,
                "error_message": one.error_message,
                "at": moment_body(one.at),
            }
            for one in skipped_items(kept)
        ],
    }


def node_body(node: NodeView) -> dict[str, Any]:
    """Return a node of a graph, with its state if it belongs to a workflow."""
    body = {"id": node.id, "name": node.name, "kind": node.kind, "job": node.job}
    if node.state is None:
        return body
    return {
        **body,
        "state": node.state,
        "attempt_number": node.attempt_number,
        "scheduled_for": moment_body(node.scheduled_for),
        "started_at": moment_body(node.started_at),
        "finished_at": moment_body(node.finished_at),
        "outcome": node.outcome,
    }


def approval_body(approval: Approval) -> dict[str, Any]:
    """Return the body of a request for approval, with its votes and everything done with it."""
    return {
        **approval_item_body(approval),
        "votes": [_vote_body(vote) for vote in approval.votes],
        "history": [audit_body(entry) for entry in approval.history],
    }


def approval_item_body(approval: Approval) -> dict[str, Any]:
    """Return a request for a list, without votes and history."""
    return {
        "id": key_body(approval.id),
        "workflow_id": key_body(approval.workflow_id),
        "step_name": approval.step_name,
        "title": approval.title,
        "facts": _stored(approval.stored_facts) or {},
        "initial": _stored(approval.stored_initial) or {},
        "role": approval.role,
        "approvers": list(approval.approvers),
        "choices": list(approval.choices),
        "quorum": approval.quorum,
        "state": approval.state,
        "requested_at": moment_body(approval.requested_at),
        "expires_at": moment_body(approval.expires_at),
        "decided_at": moment_body(approval.decided_at),
        "decided_by": approval.decided_by,
        "choice": approval.choice,
        "comment": approval.comment,
        "data": _stored(approval.stored_data),
    }


def _vote_body(vote: ApprovalVote) -> dict[str, Any]:
    return {
        "by": vote.by,
        "choice": vote.choice,
        "comment": vote.comment,
        "data": _stored(vote.stored_data),
        "at": moment_body(vote.at),
    }


def audit_body(entry: AuditRecord) -> dict[str, Any]:
    return {
        "command": entry.command,
        "actor": entry.actor,
        "reason": entry.reason,
        "at": moment_body(entry.at),
    }


def resume_request_body(
    request: ResumeRequestRecord, masked_fields: Collection[str] = ()
) -> dict[str, Any]:
    return {
        "trigger": request.trigger,
        "trigger_id": request.trigger_id,
        "actor": request.actor,
        "data": _stored(mask_text(request.stored_data, masked_fields)),
        "requested_at": moment_body(request.requested_at),
        "executed_at": moment_body(request.executed_at),
        "error": request.error,
    }


def dead_letter_body(entry: DeadLetterRecord) -> dict[str, Any]:
    return {
        "id": key_body(entry.id),
        "workflow_id": key_body(entry.workflow_id),
        "step_name": entry.step_name,
        "reason": entry.reason,
        "state": entry.state,
        "snapshot": entry.snapshot,
        "failure": _failure_of(entry),
        "created_at": moment_body(entry.created_at),
        "resolved_at": moment_body(entry.resolved_at),
        "resolved_by": entry.resolved_by,
        "notes": entry.notes,
    }


def _failure_of(entry: DeadLetterRecord) -> dict[str, Any] | None:
    """Return the step, class and message by which `drive.failures()` groups its last error."""
    error = entry.snapshot.get("error")
    if error is None:
        return None
    return {
        "step": error["step_name"],
        "error_class": error["class"],
        "message": normalised(error["message"]),
    }


def batch_body(batch: BatchProgress) -> dict[str, Any]:
    """Return the counts of a batch or map."""
    return {
        "name": batch.name,
        "node": batch.node,
        "kind": batch.kind,
        "total": batch.total,
        "done": batch.done,
        "running": batch.running,
        "pending": batch.pending,
        "failed": batch.failed,
        "items_done": batch.items_done,
        "items_total": batch.items_total,
        "items_failed": batch.items_failed,
        "parallelism": batch.parallelism,
        "rate": None if batch.rate is None else round(batch.rate, 3),
        "remaining_seconds": _seconds(batch.remaining),
        "is_over": batch.is_over,
    }


def failed_item_body(one: FailedItem) -> dict[str, Any]:
    return {
        "worker": one.worker,
        "cursor": _stored(one.stored_cursor),
        "error_class": one.error_class,
        "error_message": one.error_message,
        "item": one.item,
        "at": moment_body(one.at),
    }


def progress_body(progress: IterationProgress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    rate = progress.rate
    return {
        "done": progress.done,
        "total": progress.total,
        "unit": progress.unit,
        "rate": None if rate is None else round(rate, 3),
        "remaining_seconds": _seconds(progress.remaining),
    }


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else round(span.total_seconds(), 3)


def schedule_body(schedule: Schedule) -> dict[str, Any]:
    last = schedule.last_run
    return {
        "type": schedule.type,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "overlap": schedule.overlap,
        "missed": schedule.missed,
        "jitter_seconds": _seconds(schedule.jitter),
        "next_at": moment_body(schedule.next_at),
        "paused_at": moment_body(schedule.paused_at),
        "paused_by": schedule.paused_by,
        "paused_reason": schedule.paused_reason,
        "seen_at": moment_body(schedule.seen_at),
        "queued_count": schedule.queued_count,
        "last_run": None if last is None else schedule_run_body(last),
    }


def schedule_run_body(run: ScheduleRun) -> dict[str, Any]:
    return {
        "type": run.type,
        "at": moment_body(run.at),
        "state": run.state,
        "workflow_id": optional_key_body(run.workflow_id),
        "skipped_reason": run.skipped_reason,
        "blocked_by": optional_key_body(run.blocked_by),
        "is_manual": run.is_manual,
        "actor": run.actor,
        "recorded_at": moment_body(run.recorded_at),
        "started_at": moment_body(run.started_at),
    }


def key_body(key: Any) -> int | str:
    return key if isinstance(key, int) else str(key)


def optional_key_body(key: Any) -> int | str | None:
    return None if key is None else key_body(key)


def moment_body(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None


def _stored(text: str | None) -> Any:
    """Return a stored value as typed JSON, which needs no import of the app's types."""
    return None if text is None else json.loads(text)
