"""What a workflow waits for, in one sentence for people."""

from __future__ import annotations

from datetime import datetime

from geneva_drive import serialization
from geneva_drive.durations import describe
from geneva_drive.engine.shares import Share
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.states import Request, StepState, WorkflowState
from geneva_drive.storage.records import ExecutionRecord, LimitUse, WorkerRecord, WorkflowRecord


def explain(
    workflow: WorkflowRecord,
    active: tuple[ExecutionRecord, ...],
    workers: list[WorkerRecord],
    now: datetime,
    use: LimitUse | None = None,
) -> str:
    """Say where a workflow stands, and what would make it go on."""
    match workflow.state:
        case WorkflowState.FINISHED:
            return f"It finished at {_moment(workflow.finished_at)}; nothing is left to do."
        case WorkflowState.CANCELED:
            return f"It was canceled at {_moment(workflow.canceled_at)}; nothing is left to do."
        case WorkflowState.PAUSED:
            return _paused(workflow, active)
        case _:
            if use is not None:
                return _parked(active[0], use)
            return _ready(workflow, active, workers, now)


def _paused(workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...]) -> str:
    reason = f" ({workflow.paused_reason.splitlines()[0]})" if workflow.paused_reason else ""
    step = workflow.next_step_name
    if step is None or "StepVanished" in reason:
        return f"It is paused since {_moment(workflow.paused_at)}{reason}."
    way_on = f"`resume` lets step {step!r} run" if active else f"`resume` runs step {step!r} again"
    return (
        f"It is paused since {_moment(workflow.paused_at)}{reason}: {way_on}, "
        f"`skip` passes it over."
    )


def _ready(
    workflow: WorkflowRecord,
    active: tuple[ExecutionRecord, ...],
    workers: list[WorkerRecord],
    now: datetime,
) -> str:
    if not active:
        return (
            "It is ready, but nothing is scheduled; a worker with its class will see to it, and "
            "`resume_at` chooses where to go on."
        )
    execution = active[0]
    step = execution.step_name
    far = _how_far(execution)
    if execution.state is StepState.IN_PROGRESS:
        asked = {Request.PAUSE: ", then it pauses", Request.CANCEL: ", then it is canceled"}
        then = asked[workflow.requested] if workflow.requested else ""
        silent = [w for w in workers if w.id == execution.worker_id and not w.heard_within_lease]
        if silent:
            return (
                f"Step {step!r} was running on worker {silent[0].name}, which is silent since "
                f"{_moment(silent[0].heartbeat_at)}; the next worker to look takes it back{then}."
            )
        return f"Step {step!r} is running since {_moment(execution.started_at)}{far}{then}."
    if execution.scheduled_for > now:
        span = describe(execution.scheduled_for - now)
        verb = "goes on" if execution.state is StepState.SUSPENDED else "runs"
        return f"Step {step!r} {verb} at {_moment(execution.scheduled_for)}, in {span}{far}."
    if not any(_serves(worker, execution) for worker in workers):
        return (
            f"Step {step!r} is due, but no running worker serves {execution.type} on queue "
            f"{execution.queue!r}: start `geneva worker` with an app that imports the class."
        )
    return f"Step {step!r} is due and waits for a free worker on queue {execution.queue!r}{far}."


def _how_far(execution: ExecutionRecord) -> str:
    """Say how far the loop of a resumable step has come."""
    if not execution.completed_iterations:
        return ""
    progress = IterationProgress.read(
        execution.completed_iterations, serialization.load(execution.progress)
    )
    share = Share.load(execution.share)
    if share is not None:
        return f" (partition {share.number} of {share.of}: {progress.done:,} items done)"
    total = "" if progress.total is None else f" of {progress.total:,}"
    return f" ({progress.done:,}{total} items done)"


def _parked(execution: ExecutionRecord, use: LimitUse) -> str:
    limit, window = use.limit, use.limit.window
    counts = [f"{use.running} running"] if limit.concurrency is not None else []
    if window is not None:
        counts.append(f"{use.started} started within {describe(window.period)}")
    return (
        f"Step {execution.step_name!r} is due and waits for the limit {limit.key!r} "
        f"({limit.words}): {', '.join(counts)}, {use.waiting} waiting."
    )


def _serves(worker: WorkerRecord, execution: ExecutionRecord) -> bool:
    return (
        worker.is_alive
        and execution.type in worker.signatures
        and (worker.queues is None or execution.queue in worker.queues)
    )


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else "an unknown time"
