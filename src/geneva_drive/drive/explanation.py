"""What a workflow waits for, in one sentence for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.durations import describe
from geneva_drive.engine.transitions.partitions import Partition
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.serialization import typed_json
from geneva_drive.settings import Settings
from geneva_drive.states import Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import (
    ActiveCount,
    AuditRecord,
    ExecutionRecord,
    LimitUse,
    WorkerRecord,
    WorkflowRecord,
)

MOST_NAMED = 3
_QUIET_BEATS = 2.5  # heartbeats, of which a worker that lives is not silent for as many

_RUNNING, _DUE, _LATER, _WAITING = "running", "due", "later", "waiting"
_DOINGS = {
    _RUNNING: ("is running", "are running"),
    _DUE: ("is due", "are due"),
    _LATER: ("runs later", "run later"),
    _WAITING: ("waits for a child workflow", "wait for child workflows"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What has a say in a workflow's going on, beside the workflow itself."""

    workers: list[WorkerRecord]
    now: datetime
    settings: Settings
    use: LimitUse | None = None  # of the limit that it waits for
    child: WorkflowRecord | None = None  # that it waits for
    canceled_by: AuditRecord | ExecutionRecord | None = None  # who asked for it, or which step
    counts: tuple[ActiveCount, ...] | None = None  # where `active` are only the oldest
    is_step_gone: bool = False  # this process has its class, and not the step it stands at


def explain(workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], around: Around) -> str:
    """Say where a workflow stands, and what would make it go on."""
    match workflow.state:
        case WorkflowState.FINISHED:
            return f"It finished at {_moment(workflow.finished_at)}; nothing is left to do."
        case WorkflowState.CANCELED:
            by = _canceled_by(around.canceled_by)
            return f"It was canceled at {_moment(workflow.canceled_at)}{by}; nothing is left to do."
        case WorkflowState.PAUSED:
            return _paused(workflow, active)
        case _ if len({one.step_name for one in active}) > 1:
            return _several(workflow, active, around)
        case _ if around.use is not None:
            return _parked(active[0], around.use)
        case _:
            return _ready(workflow, active, around)


def _canceled_by(cause: AuditRecord | ExecutionRecord | None) -> str:
    match cause:
        case None:
            return ""
        case AuditRecord(actor=actor, reason=reason):
            return f"{f' by {actor}' if actor else ''}{_in_brackets(reason)}"
        case ExecutionRecord(step_name=step, error_class=str(kind), error_message=message):
            error = ": ".join(filter(None, (kind.rpartition(".")[2], _first_line(message))))
            return f" by step {step!r} ({error})"
        case ExecutionRecord(step_name=step, outcome=Outcome.CANCELED_BY_CONDITION):
            return f" by cancel_if, when step {step!r} was due"
        case ExecutionRecord(step_name=step):
            return f" by step {step!r}"


def _in_brackets(reason: str | None) -> str:
    return f" ({_first_line(reason)})" if reason else ""


def _first_line(text: str | None) -> str:
    return text.splitlines()[0] if text else ""


def _paused(workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...]) -> str:
    reason = _in_brackets(workflow.paused_reason)
    step, failed = workflow.next_step_name, workflow.paused_step_name
    if "StepVanished" in reason or (step is None and failed is None):
        return f"It is paused since {_moment(workflow.paused_at)}{reason}."
    if step is None and failed not in {one.step_name for one in active}:
        return (
            f"It is paused since {_moment(workflow.paused_at)}{reason}: `resume` runs node "
            f"{failed!r} again and whatever else failed, `skip` passes it over."
        )
    step = step or failed
    way_on = f"`resume` lets step {step!r} run" if active else f"`resume` runs step {step!r} again"
    return (
        f"It is paused since {_moment(workflow.paused_at)}{reason}: {way_on}, "
        f"`skip` passes it over."
    )


def _ready(
    workflow: WorkflowRecord,
    active: tuple[ExecutionRecord, ...],
    around: Around,
) -> str:
    if not active:
        # In a graph nobody could say where alone to go on.
        choice = ", and `resume_at` chooses where to go on" if workflow.next_step_name else ""
        return (
            f"It is ready, but nothing is scheduled; a worker with its class will see to it"
            f"{choice}."
        )
    execution, workers, now = active[0], around.workers, around.now
    step = execution.step_name
    far = _how_far(execution)
    if execution.state is StepState.IN_PROGRESS:
        then = _then(workflow)
        runner = next((w for w in workers if w.id == execution.worker_id), None)
        if runner is not None and not runner.heard_within_lease:
            return (
                f"Step {step!r} was running on worker {runner.name}, which is silent since "
                f"{_moment(runner.heartbeat_at)}; the next worker to look takes it back{then}."
            )
        quiet = _quiet(runner, around.settings)
        return f"Step {step!r} is running since {_moment(execution.started_at)}{far}{quiet}{then}."
    if execution.state is StepState.WAITING:
        return _waiting(execution, around.child)
    if around.is_step_gone:
        return (
            f"Step {step!r} is not in the code that this process has of {workflow.type}. Workers "
            f"with the same code leave it to those who may have the step, as long as such are "
            f"heard of, and then let it fail."
        )
    if execution.scheduled_for > now:
        span = describe(execution.scheduled_for - now)
        verb = "goes on" if execution.state is StepState.SUSPENDED else "runs"
        return f"Step {step!r} {verb} at {_moment(execution.scheduled_for)}, in {span}{far}."
    if not _is_served(execution, workers):
        return f"Step {step!r} is due, but {_unserved(execution, workers)}."
    return f"Step {step!r} is due and waits for a free worker on queue {execution.queue!r}{far}."


def _quiet(runner: WorkerRecord | None, settings: Settings) -> str:
    """Say that a worker may be dead: it has the benefit of the doubt until its lease ends."""
    if runner is None or runner.silent_for < settings.heartbeat_interval * _QUIET_BEATS:
        return ""
    return (
        f" on worker {runner.name}, which was last heard of {describe(runner.silent_for)} ago and "
        f"is taken for dead after {describe(settings.lease)}"
    )


def _then(workflow: WorkflowRecord) -> str:
    asked = {Request.PAUSE: ", then it pauses", Request.CANCEL: ", then it is canceled"}
    return asked[workflow.requested] if workflow.requested else ""


def _waiting(execution: ExecutionRecord, child: WorkflowRecord | None) -> str:
    if child is None:
        return f"Node {execution.step_name!r} waits for its child workflow {execution.child_id}."
    return (
        f"Node {execution.step_name!r} waits for its child workflow {child.id} ({child.type}), "
        f"which is {child.state}."
    )


def _several(workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], around: Around) -> str:
    """Count the nodes that are under way, and name the oldest of each kind."""
    groups: dict[str, list[ExecutionRecord]] = {}
    for one in active:
        groups.setdefault(_doing(one.state, one.scheduled_for > around.now), []).append(one)
    counts = Counter[str]()
    for row in around.counts or ():
        counts[_doing(row.state, row.is_later)] += row.count
    # The rows are counted after `active` was read, when all of these may have ended.
    counts = counts or _counts(groups)
    parts = [
        _part(doing, counts[doing], groups.get(doing, []), around)
        for doing in _DOINGS
        if counts[doing]
    ]
    parts[0] = parts[0].replace(" ", " nodes " if counts[_first(counts)] > 1 else " node ", 1)
    due = groups.get(_DUE, [])
    if due and set(counts) == {_DUE} and not _is_served(due[0], around.workers):
        return f"{parts[0]}, but {_unserved(due[0], around.workers)}."
    return f"{', '.join(parts)}{_then(workflow) if counts[_RUNNING] else ''}."


def _counts(groups: Mapping[str, Sequence[ExecutionRecord]]) -> Counter[str]:
    """Count nodes: the partitions of a step are one."""
    return Counter({doing: len({e.step_name for e in found}) for doing, found in groups.items()})


def _first(counts: Counter[str]) -> str:
    return next(doing for doing in _DOINGS if counts[doing])


def _doing(state: StepState, is_later: bool) -> str:
    if state is StepState.IN_PROGRESS:
        return _RUNNING
    if state is StepState.WAITING:
        return _WAITING
    return _LATER if is_later else _DUE


def _part(doing: str, count: int, known: Sequence[ExecutionRecord], around: Around) -> str:
    # Of a dynamic workflow, `known` are only the oldest in each state: a kind may have none.
    names = list(dict.fromkeys(repr(one.step_name) for one in known))[: min(MOST_NAMED, count)]
    named = f" ({', '.join(names)}{', ...' if count > len(names) else ''})" if names else ""
    singular, plural = _DOINGS[doing]
    told = f"{count:,} {singular if count == 1 else plural}{named}"
    if doing == _LATER:
        rows = around.counts or ()
        counted = (row.first_at for row in rows if _doing(row.state, row.is_later) == _LATER)
        first_at = min((*counted, *(one.scheduled_for for one in known)))
        return f"{told} from {_moment(first_at)} on"
    if doing == _DUE and around.use is not None:
        limit = around.use.limit
        return f"{told} as the limit {limit.key!r} ({limit.words}) lets them"
    return told


def _how_far(execution: ExecutionRecord) -> str:
    """Say how far the loop of a resumable step has come."""
    if not execution.completed_iterations:
        return ""
    progress = IterationProgress.read(
        execution.completed_iterations, typed_json.load(execution.progress)
    )
    partition = Partition.load(execution.share)
    if partition is not None:
        return f" (partition {partition.number} of {partition.of}: {progress.done:,} items done)"
    if progress.is_rewound:
        return f" ({progress.done:,} items done since its rewind)"
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


def _is_served(execution: ExecutionRecord, workers: Sequence[WorkerRecord]) -> bool:
    return any(worker.serves(execution.type, execution.queue) for worker in workers)


def _unserved(execution: ExecutionRecord, workers: Sequence[WorkerRecord]) -> str:
    what = execution.type or "dynamic workflows"
    if any(worker.knows(execution.type) for worker in workers):
        way_out = f"start one that serves this queue, with --queues {execution.queue}"
    else:
        imported = "class" if execution.type else "jobs"
        way_out = f"start `geneva worker` with an app that imports the {imported}"
    return f"no running worker serves {what} on queue {execution.queue!r}: {way_out}"


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else "an unknown time"
