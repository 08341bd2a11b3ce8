"""States, outcomes and the legal moves between states, as data."""

from __future__ import annotations

from enum import StrEnum


class WorkflowState(StrEnum):
    """The state of a workflow."""

    READY = "ready"  # an execution is scheduled, running or waiting
    PERFORMING = "performing"  # ready, and a step is running; derived by handles, never stored
    PAUSED = "paused"  # until it is resumed; also derived while it waits for a person or event
    FINISHED = "finished"
    CANCELED = "canceled"


class StepState(StrEnum):
    """The state of a step execution."""

    PENDING = "pending"  # a worker of a batch or map that waits for its turn
    SCHEDULED = "scheduled"  # runs when it is due
    IN_PROGRESS = "in_progress"  # held by one worker
    SUSPENDED = "suspended"  # an interrupted loop; the same execution continues from its cursor
    WAITING = "waiting"  # for a decision, an event or a child workflow
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELED = "canceled"


class Outcome(StrEnum):
    """How an execution ended, for people; the state drives logic."""

    SUCCESS = "success"
    REATTEMPTED = "reattempted"
    REATTEMPTED_BY_EXCEPTION = "reattempted_by_exception"
    SKIPPED_BY_CONDITION = "skipped_by_condition"
    SKIPPED_BY_FLOW_CONTROL = "skipped_by_flow_control"
    SKIPPED_BY_EXCEPTION = "skipped_by_exception"
    SKIPPED_BY_BRANCH = "skipped_by_branch"
    SKIPPED_BY_REMOVAL = "skipped_by_removal"
    SKIPPED_BY_OPERATOR = "skipped_by_operator"
    CANCELED_BY_FLOW_CONTROL = "canceled_by_flow_control"
    CANCELED_BY_CONDITION = "canceled_by_condition"
    CANCELED_BY_EXCEPTION = "canceled_by_exception"
    CANCELED_BY_OPERATOR = "canceled_by_operator"
    PAUSED_BY_FLOW_CONTROL = "paused_by_flow_control"
    PAUSED_BY_EXCEPTION = "paused_by_exception"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    TIMED_OUT = "timed_out"
    RECOVERED = "recovered"
    RESOLVED_MANUALLY = "resolved_manually"
    COMPLETED_MANUALLY = "completed_manually"


class ApprovalState(StrEnum):
    """The state of a request for approval."""

    PENDING = "pending"  # waits for a decision
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"  # its deadline passed before a decision
    CANCELED = "canceled"  # its workflow no longer waits for it


class EventWaitState(StrEnum):
    """The state of a wait for events."""

    OPEN = "open"
    HEARD = "heard"  # its events arrived
    TIMED_OUT = "timed_out"  # its deadline passed before they arrived
    CANCELED = "canceled"  # its workflow no longer waits for them


class FailureStrategy(StrEnum):
    """What a batch or a map does once more of its workers have failed than it tolerates."""

    FAIL_FAST = "fail_fast"  # starts no more workers, and the workflow pauses
    CONTINUE_ON_FAILURE = "continue_on_failure"  # runs the others, and the workflow continues
    ISOLATE = "isolate"  # runs the others, then the workflow pauses


class Overlap(StrEnum):
    """What a schedule does if its last workflow is ongoing when the next run is due."""

    SKIP = "skip"  # the run is recorded as skipped
    QUEUE = "queue"  # the run starts when the former workflow has ended
    CANCEL_RUNNING = "cancel_running"  # the former workflow is canceled, and the run starts
    ALLOW = "allow"  # both workflows run


class MissedRuns(StrEnum):
    """What a schedule does with runs that were due while no worker was running."""

    LATEST = "latest"  # starts the newest one
    SKIP = "skip"  # starts none
    ALL = "all"  # starts each, in order


class SkippedReason(StrEnum):
    """Why a run of a schedule started no workflow."""

    OVERLAP = "overlap"  # the workflow of an earlier run was ongoing
    MISSED = "missed"  # no worker was running when it was due
    PAUSED = "paused"  # the schedule was paused


class ResumeTrigger(StrEnum):
    """What made a paused workflow continue."""

    APPROVAL = "approval"
    EVENT = "event"
    MANUAL = "manual"
    TIMEOUT = "timeout"


class Need(StrEnum):
    """Who or what acts next on a workflow."""

    OPERATOR = "operator"  # paused by hand or by a failure
    WORKER = "worker"  # an execution is due or running
    PERSON = "person"  # an approval is pending
    EVENT = "event"
    CHILD = "child"
    TIMER = "timer"
    NONE = "none"  # it has ended


class Request(StrEnum):
    """A command that waits for the running step to end."""

    PAUSE = "pause"
    CANCEL = "cancel"


class Interruption(StrEnum):
    """Why a resumable step stopped between two items, to continue later from its cursor."""

    SHUTDOWN = "shutdown"  # its worker stops
    MAX_ITERATIONS = "max_iterations"
    MAX_RUNTIME = "max_runtime"
    PAUSED = "paused"  # an operator asked for it
    CANCELED = "canceled"
    CLAIM_LOST = "claim_lost"  # another worker holds it; this one writes nothing
    THROTTLED = "throttled"
    SUSPEND = "suspend"  # its body called suspend()
    SKIP_TO = "skip_to"


class ExpansionKind(StrEnum):
    """The kinds of nodes that run as several executions."""

    BATCH = "batch"
    MAP = "map"


class DeadLetterReason(StrEnum):
    """Why a workflow needs an operator, the worst first."""

    WORKER_UNAVAILABLE = "worker_unavailable"  # its recoveries ran out
    MAX_RETRIES_EXCEEDED = "max_retries_exceeded"  # its reattempts ran out
    MISSING_JOB = "missing_job"
    STALENESS_TIMEOUT = "staleness_timeout"  # no progress for longer than stale_after
    RESUME_TIMEOUT = "resume_timeout"  # paused for longer than the setting resume_timeout
    MANUAL = "manual"  # an operator added it


class DeadLetterState(StrEnum):
    """Whether a dead letter still needs an operator."""

    PENDING = "pending"
    RESOLVED = "resolved"


ACTIVE_STEP_STATES = frozenset(
    {StepState.SCHEDULED, StepState.IN_PROGRESS, StepState.SUSPENDED, StepState.WAITING}
)

# Ends of an attempt whose node is not done: another attempt may follow.
UNDONE_STEP_STATES = (StepState.FAILED, StepState.CANCELED)

ENDED_WORKFLOW_STATES = frozenset({WorkflowState.FINISHED, WorkflowState.CANCELED})

STORED_WORKFLOW_STATES = frozenset(WorkflowState) - {WorkflowState.PERFORMING}

# Without `performing`, which is never stored.
WORKFLOW_MOVES: dict[WorkflowState, frozenset[WorkflowState]] = {
    WorkflowState.READY: frozenset(
        {
            WorkflowState.READY,
            WorkflowState.PAUSED,
            WorkflowState.FINISHED,
            WorkflowState.CANCELED,
        }
    ),
    WorkflowState.PAUSED: frozenset(
        {WorkflowState.READY, WorkflowState.FINISHED, WorkflowState.CANCELED}
    ),
    WorkflowState.FINISHED: frozenset(),
    WorkflowState.CANCELED: frozenset(),
}

_ENDS = frozenset({StepState.COMPLETED, StepState.FAILED, StepState.SKIPPED, StepState.CANCELED})

STEP_MOVES: dict[StepState, frozenset[StepState]] = {
    StepState.PENDING: frozenset({StepState.SCHEDULED, StepState.SKIPPED, StepState.CANCELED}),
    StepState.SCHEDULED: frozenset({StepState.IN_PROGRESS, StepState.SKIPPED, StepState.CANCELED}),
    # Back to scheduled: only newer code has the step, or its limit has no free slot.
    StepState.IN_PROGRESS: _ENDS | {StepState.SCHEDULED, StepState.SUSPENDED, StepState.WAITING},
    StepState.SUSPENDED: frozenset({StepState.IN_PROGRESS, StepState.SKIPPED, StepState.CANCELED}),
    StepState.WAITING: frozenset(
        {StepState.IN_PROGRESS, StepState.SCHEDULED, StepState.SKIPPED, StepState.CANCELED}
    ),
    StepState.COMPLETED: frozenset(),
    StepState.FAILED: frozenset(),
    StepState.SKIPPED: frozenset(),
    StepState.CANCELED: frozenset(),
}


def is_done(state: StepState, outcome: Outcome | None) -> bool:
    """True if a node whose latest attempt ended like this needs no further attempt."""
    if state is StepState.SKIPPED:
        return True
    return state is StepState.COMPLETED and outcome is not Outcome.REATTEMPTED
