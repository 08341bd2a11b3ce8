"""The words of `why()`: what a workflow waits for, and what makes it continue.

`why_facts.py` reads the facts; this module turns them into a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from geneva_drive.display import moment_words, short_name
from geneva_drive.drive.explanation.batch_explanation import batch_under_way, held_batch
from geneva_drive.drive.explanation.batch_words import is_held_at
from geneva_drive.drive.explanation.execution_words import (
    first_line,
    is_served,
    limited,
    trouble_of_workers,
    unserved,
    what_then,
    which_attempt,
)
from geneva_drive.drive.explanation.wait_words import (
    asked_people,
    awaited,
    awaited_events,
    explain_wait,
)
from geneva_drive.drive.explanation.why_facts import (
    ActiveWorkflow,
    Circumstances,
    read_many_circumstances,
)
from geneva_drive.durations import describe
from geneva_drive.engine.transitions.partitions import Partition
from geneva_drive.engine.transitions.wait_kinds import wait_of
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.serialization import typed_json
from geneva_drive.settings import Settings
from geneva_drive.states import Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import (
    AuditRecord,
    ExecutionRecord,
    WorkerRecord,
    WorkflowRecord,
)

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

MOST_NAMED = 3
_LATE_HEARTBEATS = 2.5  # intervals; a healthy worker is never silent for so long


class _Activity(StrEnum):
    """What a node is doing; the sentence about several nodes lists them in this order."""

    RUNNING = "running"
    DUE = "due"
    LATER = "later"
    WAITING = "waiting"


_VERBS = {
    _Activity.RUNNING: ("is running", "are running"),
    _Activity.DUE: ("is due", "are due"),
    _Activity.LATER: ("runs later", "run later"),
    _Activity.WAITING: ("waits", "wait"),
}


def explain_many(drive: Drive, workflows: Sequence[ActiveWorkflow]) -> list[str]:
    """Return the sentences about a page of workflows, each with its active executions."""
    known = read_many_circumstances(drive, workflows, drive.workers)
    return [
        explain(record, tuple(active), one)
        for (record, active), one in zip(workflows, known, strict=True)
    ]


def explain_new(
    drive: Drive,
    workflow: WorkflowRecord,
    firsts: tuple[ExecutionRecord, ...],
    workers: list[WorkerRecord],
) -> str:
    """Return the sentence about a workflow that was just created, without a query."""
    known = Circumstances(workers=workers, now=drive.clock.now(), settings=drive.settings)
    return explain(workflow, firsts, known)


def explain(
    workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], known: Circumstances
) -> str:
    match workflow.state:
        case WorkflowState.FINISHED:
            return f"It finished at {moment_words(workflow.finished_at)}; nothing is left to do."
        case WorkflowState.CANCELED:
            by = _canceled_by(known.canceled_by)
            at = moment_words(workflow.canceled_at)
            return f"It was canceled at {at}{by}; nothing is left to do."
        case WorkflowState.PAUSED:
            return _paused(workflow, active, known)
        case WorkflowState.READY | WorkflowState.PERFORMING:
            return _ongoing(workflow, active, known)
        case _:
            assert_never(workflow.state)


def _canceled_by(cause: AuditRecord | ExecutionRecord | None) -> str:
    match cause:
        case None:
            return ""
        case AuditRecord(actor=actor, reason=reason):
            return f"{f' by {actor}' if actor else ''}{_in_brackets(reason)}"
        case ExecutionRecord(step_name=step, error_class=str(kind), error_message=message):
            error = ": ".join(filter(None, (kind.rpartition(".")[2], first_line(message))))
            return f" by step {step!r} ({error})"
        case ExecutionRecord(step_name=step, outcome=Outcome.CANCELED_BY_CONDITION):
            return f" by cancel_if, when step {step!r} was due"
        case ExecutionRecord(step_name=step, outcome=Outcome.REJECTED, result=result):
            decision = typed_json.load(result)
            rejection = f"rejected by {decision['by']}{_in_brackets(decision['comment'])}"
            return f", because step {step!r} was {rejection}"
        case ExecutionRecord(step_name=step, outcome=Outcome.EXPIRED):
            return f", because step {step!r} was not decided in time"
        case ExecutionRecord(step_name=step, outcome=Outcome.TIMED_OUT, error_class=None):
            return f", because the wait of step {step!r} timed out"
        case ExecutionRecord(step_name=step):
            return f" by step {step!r}"
        case _:
            assert_never(cause)


def _paused(
    workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], known: Circumstances
) -> str:
    reason = _in_brackets(short_name(workflow.paused_reason or ""))
    at = f"It has been paused since {moment_words(workflow.paused_at)}"
    since = f"{at}{reason}"
    step, failed = workflow.next_step_name, workflow.paused_step_name
    for batch in known.batches:
        if is_held_at(batch, failed):
            told = reason.replace(".)", ")")  # the reason of a batch is a sentence
            return f"{at}{told}: {held_batch(workflow, batch, known, reason)}"
    if "StepVanished" in reason or (step is None and failed is None):
        return f"{since}."
    if step is None and failed not in {one.step_name for one in active}:
        return (
            f"{since}: `resume` runs node {failed!r} and all other failed nodes again; "
            f"`skip` leaves it out."
        )
    if known.approval is not None:
        return (
            f"{since}, while step {known.approval.step_name!r} waits for a decision on approval "
            f"{known.approval.id}{asked_people(known.approval)}: the decision takes effect after "
            f"`resume`."
        )
    if known.event_wait is not None:
        return (
            f"{since}, while step {known.event_wait.step_name!r} waits for "
            f"{awaited_events(known.event_wait)}: the event takes effect after `resume`."
        )
    again = "" if active else " again"
    return f"{since}: `resume` runs step {step or failed!r}{again}; `skip` leaves it out."


def _ongoing(
    workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], known: Circumstances
) -> str:
    workers = [one for one in active if one.is_worker]
    if not workers or known.is_step_gone or not known.batches:
        return _ongoing_nodes(workflow, active, known)
    told = [batch_under_way(workflow, batch, workers, known) for batch in known.batches]
    nodes = tuple(one for one in active if not one.is_worker)
    beside = [_ongoing_nodes(workflow, nodes, known)] if nodes else []
    return " ".join([*told, *beside])


def _ongoing_nodes(
    workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], known: Circumstances
) -> str:
    if not active:
        # A graph has no `resume_at`: several nodes may be next.
        choice = ", and `resume_at` chooses the step" if workflow.next_step_name else ""
        return (
            f"It is ready, but nothing is scheduled; a worker with its class will schedule "
            f"it{choice}."
        )
    if len({one.step_name for one in active}) > 1:
        return f"{_explain_several(workflow, active, known)}{_handed_over(known)}"
    execution = active[0]
    if known.limit_use is not None:
        return limited(execution, known.limit_use)
    if execution.state is StepState.IN_PROGRESS:
        return _running(workflow, execution, known)
    if execution.state is StepState.WAITING:
        return explain_wait(execution, known)
    return f"{_scheduled(workflow, execution, known)}{_handed_over(known)}"


def _handed_over(known: Circumstances) -> str:
    if known.handed_over is None:
        return ""
    return (
        f" A worker that has not imported the job of node {known.handed_over!r} leaves it to "
        f"others: start `geneva worker` with an app that imports it. If none does within ten "
        f"minutes, the node fails."
    )


def _running(workflow: WorkflowRecord, execution: ExecutionRecord, known: Circumstances) -> str:
    step, then = execution.step_name, what_then(workflow)
    worker = next((one for one in known.workers if one.id == execution.worker_id), None)
    if worker is not None and not worker.heard_within_lease:
        return (
            f"Step {step!r} was running on worker {worker.name}, which has sent no heartbeat since "
            f"{moment_words(worker.heartbeat_at)}; another worker will take it over{then}."
        )
    trouble = f" Its worker waits: {worker.trouble}" if worker and worker.trouble else ""
    return (
        f"Step {step!r} has been running since {moment_words(execution.started_at)}"
        f"{_items_done(execution)}{_late_heartbeat(worker, known.settings)}{then}.{trouble}"
    )


def _late_heartbeat(worker: WorkerRecord | None, settings: Settings) -> str:
    if worker is None or worker.silent_for < settings.heartbeat_interval * _LATE_HEARTBEATS:
        return ""
    return (
        f" on worker {worker.name}, whose last heartbeat was {describe(worker.silent_for)} ago "
        f"(it counts as dead after {describe(settings.lease)})"
    )


def _scheduled(workflow: WorkflowRecord, execution: ExecutionRecord, known: Circumstances) -> str:
    step, items = execution.step_name, _items_done(execution)
    attempt = which_attempt(execution, known.attempt_before)
    if known.is_step_gone:
        return (
            f"Step {step!r} is not in this process's code of {workflow.type}. It is left to "
            f"workers with newer code; if none is seen for ten minutes, the step fails."
        )
    if execution.scheduled_for > known.now:
        span = describe(execution.scheduled_for - known.now)
        verb = "goes on" if execution.state is StepState.SUSPENDED else "runs"
        moment = moment_words(execution.scheduled_for)
        if attempt:
            return f"Step {step!r} {verb} again at {moment}, in {span}{items}: {attempt}."
        return f"Step {step!r} {verb} at {moment}, in {span}{items}."
    this_is = f" This is {attempt}." if attempt else ""
    if not is_served(execution, known.workers):
        return f"Step {step!r} is due, but {unserved(execution, known.workers)}.{this_is}"
    return (
        f"Step {step!r} is due and waits for a free worker on queue {execution.queue!r}{items}."
        f"{this_is}{trouble_of_workers(execution, known.workers)}"
    )


def _items_done(execution: ExecutionRecord) -> str:
    if not execution.completed_iterations:
        return ""
    progress = IterationProgress.read(
        execution.completed_iterations, typed_json.load(execution.progress)
    )
    partition = Partition.load(execution.share)
    if partition is not None:
        return f" (partition {partition.number} of {partition.of}: {progress.done:,} items done)"
    if progress.is_rewound:
        return f" ({progress.done:,} {progress.unit} done since its rewind)"
    total = "" if progress.total is None else f" of {progress.total:,}"
    return f" ({progress.done:,}{total} {progress.unit} done)"


def _explain_several(
    workflow: WorkflowRecord, active: tuple[ExecutionRecord, ...], known: Circumstances
) -> str:
    """Count the active nodes by what they are doing, and name the oldest of each."""
    groups: dict[_Activity, list[ExecutionRecord]] = {}
    for one in active:
        groups.setdefault(_activity(one.state, one.scheduled_for > known.now), []).append(one)
    counts = Counter[_Activity]()
    for row in known.counts or ():
        counts[_activity(row.state, row.is_later)] += row.count
    # The rows were counted after `active` was read; all nodes may have ended in between.
    counts = counts or _count_nodes(groups)
    parts: list[str] = []
    for activity in _Activity:
        if count := counts[activity]:
            noun = "" if parts else "node " if count == 1 else "nodes "
            parts.append(_part(activity, count, noun, groups.get(activity, []), known))
    due = groups.get(_Activity.DUE, [])
    if due and set(counts) == {_Activity.DUE} and not is_served(due[0], known.workers):
        return f"{parts[0]}, but {unserved(due[0], known.workers)}."
    return f"{', '.join(parts)}{what_then(workflow) if counts[_Activity.RUNNING] else ''}."


def _count_nodes(groups: Mapping[_Activity, Sequence[ExecutionRecord]]) -> Counter[_Activity]:
    # The partitions of a step are one node.
    return Counter(
        {doing: len({one.step_name for one in found}) for doing, found in groups.items()}
    )


def _activity(state: StepState, is_later: bool) -> _Activity:
    if state is StepState.IN_PROGRESS:
        return _Activity.RUNNING
    if state is StepState.WAITING:
        return _Activity.WAITING
    return _Activity.LATER if is_later else _Activity.DUE


def _part(
    activity: _Activity,
    count: int,
    noun: str,
    oldest: Sequence[ExecutionRecord],
    known: Circumstances,
) -> str:
    # For a dynamic workflow, only the oldest executions are read: an activity may have none.
    names = list(dict.fromkeys(repr(one.step_name) for one in oldest))[: min(MOST_NAMED, count)]
    named = f" ({', '.join(names)}{', ...' if count > len(names) else ''})" if names else ""
    number = 0 if count == 1 else 1
    words = f"{count:,} {noun}{_VERBS[activity][number]}"
    match activity:
        case _Activity.RUNNING:
            return f"{words}{named}"
        case _Activity.DUE:
            limit = known.limit_use.limit if known.limit_use else None
            verb = _VERBS[_Activity.WAITING][number]
            waits = f" and {verb} for the limit {limit.key!r} ({limit.words})" if limit else ""
            return f"{words}{named}{waits}"
        case _Activity.LATER:
            rows = [
                row for row in known.counts or () if _activity(row.state, row.is_later) is activity
            ]
            first_at = min(
                (*(row.first_at for row in rows), *(one.scheduled_for for one in oldest))
            )
            return f"{words}{named}, from {moment_words(first_at)} on"
        case _Activity.WAITING:
            found = [wait for one in oldest if (wait := wait_of(one)) is not None]
            for_what = f" {awaited(found[0])[number]}" if found else ""
            return f"{words}{for_what}{named}"
        case _:
            assert_never(activity)


def _in_brackets(reason: str | None) -> str:
    return f" ({first_line(reason)})" if reason else ""
