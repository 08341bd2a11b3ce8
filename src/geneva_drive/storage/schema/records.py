"""The records of workflows, executions, graphs, workers and the other main tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, NamedTuple

from sqlalchemy import RowMapping

from geneva_drive.limit import Limit
from geneva_drive.serialization import typed_json
from geneva_drive.settings import OWN_QUEUE
from geneva_drive.states import (
    DeadLetterReason,
    DeadLetterState,
    Outcome,
    Request,
    StepState,
    WorkflowState,
)

Key = Any  # an int or a UUID, depending on the key type of the database
NodeKey = tuple[Key, str]  # a workflow, and a node of it

# The beginning of the share of each worker of a batch or map. The shares of partitions differ.
WORKER_SHARE = '{"expansion":'

# Shared by all executions of a chain, so that a unique index allows one active at a time.
CHAIN_SLOT = "chain"


def is_worker_share(share: str | None) -> bool:
    return share is not None and share.startswith(WORKER_SHARE)


class Unread(Enum):
    """The value of a column that was not read."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD


class WorkflowRecord(NamedTuple):
    """A row of `workflows`; a tuple, for speed: each step creates several."""

    id: Key
    type: str
    state: WorkflowState
    created_at: datetime
    updated_at: datetime
    requested: Request | None = None
    requested_reason: str | None = None
    hero_type: str | None = None
    hero_id: str | None = None
    allow_multiple: bool = False
    idempotency_key: str | None = None
    context: str | None = None
    queue: str | None = None
    priority: int | None = None
    next_step_name: str | None = None
    previous_step_name: str | None = None
    paused_reason: str | None = None
    paused_step_name: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    canceled_at: datetime | None = None
    paused_at: datetime | None = None
    parent_execution_id: Key | None = None  # the node that started this child workflow
    is_detached: bool = False
    has_graph: bool = False  # the workflow follows its stored graph, not its class
    # A claim does not read the columns from here on.
    started_by: str | Unread | None = UNREAD
    open_waits: int = 0  # executions that wait for a person or an event; a claim needs no count
    definition_version: str | None = None  # of its document; None for a class
    definition_signature: str | None = None  # the same as that of its executions
    result: str | None = None  # of a document; for a class, the last step has the result
    result_reason: str | None = None
    expires_at: datetime | None = None  # it is canceled then, unless it has ended

    @classmethod
    def read(cls, row: Iterable[Any]) -> WorkflowRecord:
        """Return the record for values in the order of `WORKFLOW_COLUMNS`."""
        values = list(row)  # changed in place: `_replace` would take three times as long
        values[_WORKFLOW_STATE] = WorkflowState(values[_WORKFLOW_STATE])
        requested = values[_REQUESTED]
        values[_REQUESTED] = Request(requested) if requested else None
        return cls._make(values)

    @classmethod
    def claimed(cls, row: Iterable[Any]) -> WorkflowRecord:
        """Return the record for values in the order of `CLAIMED_WORKFLOW_COLUMNS`."""
        return cls.read((*row, *_UNCLAIMED))

    @classmethod
    def of(cls, row: RowMapping) -> WorkflowRecord:
        return cls.read(row[name] for name in WORKFLOW_COLUMNS)


WORKFLOW_COLUMNS = WorkflowRecord._fields
_WORKFLOW_STATE = WORKFLOW_COLUMNS.index("state")
_REQUESTED = WORKFLOW_COLUMNS.index("requested")
_UNCLAIMED = (UNREAD, 0, None, None, None, None, None)  # a step needs none of these
CLAIMED_WORKFLOW_COLUMNS = WORKFLOW_COLUMNS[: -len(_UNCLAIMED)]


class ExecutionRecord(NamedTuple):
    """A row of `step_executions`; a tuple, for speed: each step creates several."""

    id: Key
    workflow_id: Key
    type: str
    signature: str
    step_name: str
    node_id: str
    slot: str
    attempt_number: int
    state: StepState
    queue: str
    priority: int
    claimable: bool
    scheduled_for: datetime
    created_at: datetime
    outcome: Outcome | None = None
    limit_key: str | None = None
    stop: Request | None = None
    worker_id: str | None = None
    claim_token: str | None = None
    failures: str | None = None
    recoveries: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error_class: str | None = None
    error_message: str | None = None
    error_backtrace: str | None = None
    result: str | None = None
    metadata: str | None = None
    cursor: str | None = None  # of a resumable step, as typed JSON
    completed_iterations: int = 0
    item_errors: int = 0
    progress: str | None = None
    share: str | None = None  # the share of the work of a partition or worker, as JSON
    ancestry_hash: str | None = None
    child_id: Key | None = None  # the workflow that it waits for

    @classmethod
    def read(cls, row: Iterable[Any]) -> ExecutionRecord:
        """Return the record for values in the order of `EXECUTION_COLUMNS`."""
        values = list(row)
        values[_STEP_STATE] = StepState(values[_STEP_STATE])
        outcome, stop = values[_OUTCOME], values[_STOP]
        values[_OUTCOME] = Outcome(outcome) if outcome else None
        values[_STOP] = Request(stop) if stop else None
        return cls._make(values)

    @classmethod
    def of(cls, row: RowMapping) -> ExecutionRecord:
        return cls.read(row[name] for name in EXECUTION_COLUMNS)

    @property
    def is_worker(self) -> bool:
        """True for a worker of a batch, and for an item of a map."""
        return is_worker_share(self.share)

    @property
    def is_partition(self) -> bool:
        return self.share is not None and not is_worker_share(self.share)

    @property
    def is_graph_node(self) -> bool:
        """True if its slot is its node, as other nodes may be active at the same time."""
        return self.slot != CHAIN_SLOT and not self.is_partition

    @property
    def is_parked(self) -> bool:
        """True if it waits for a slot of a limit."""
        return self.state is StepState.SCHEDULED and not self.claimable and bool(self.limit_key)

    @property
    def failure_counts(self) -> dict[str, int]:
        """The number of consecutive failures under each exception policy."""
        counts: dict[str, int] = typed_json.load(self.failures) or {}
        return counts


EXECUTION_COLUMNS = ExecutionRecord._fields
_STEP_STATE = EXECUTION_COLUMNS.index("state")
_OUTCOME = EXECUTION_COLUMNS.index("outcome")
_STOP = EXECUTION_COLUMNS.index("stop")

# The columns of a follow-up execution, for the general insert and for each dialect's fast
# completion. The other columns are empty.
FOLLOW_UP_COLUMNS = (
    "workflow_id",
    "attempt_number",
    "slot",
    "type",
    "signature",
    "step_name",
    "node_id",
    "queue",
    "priority",
    "state",
    "claimable",
    "wakes_at",
    "worker_id",
    "claim_token",
    "recoveries",
    "scheduled_for",
    "created_at",
    "started_at",
    "ancestry_hash",
)


@dataclass(frozen=True, slots=True)
class ActiveCount:
    """The number of a workflow's executions in a state that are due, or not due yet."""

    state: StepState
    is_later: bool
    count: int
    first_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecord:
    """A row of `graphs`."""

    workflow_id: Key
    signature: str
    template: str | None
    frozen_at: datetime
    total: int
    remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNodeRecord:
    """A row of `graph_nodes`; edges and arguments are JSON."""

    workflow_id: Key
    node_id: str
    position: int
    name: str
    job: str | None
    dependency_count: int
    args: str | None
    depends_on: str
    dependants: str
    scheduling: str | None  # of its job, if it has any options


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRecord:
    """A row of `graph_joins`: how many of a node's dependencies are not done."""

    workflow_id: Key
    node_id: str
    unmet: int


@dataclass(frozen=True, slots=True)
class NodeOutline:
    """The columns of a stored node that are needed to schedule it, without its edges."""

    node_id: str
    name: str
    job: str | None
    dependency_count: int
    scheduling: str | None

    @classmethod
    def of_entry(
        cls, node_id: str, name: str, job: str | None, scheduling: str | None
    ) -> NodeOutline:
        """Return the outline of a node without dependencies."""
        return cls(node_id=node_id, name=name, job=job, dependency_count=0, scheduling=scheduling)


@dataclass(frozen=True, slots=True)
class Dependant:
    """A stored node that depends on a node that is done."""

    workflow_id: Key
    node: GraphNodeRecord | NodeOutline  # the whole record if few were read
    unmet: int | None  # number of unmet dependencies; None if it has only one


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecord:
    """A row of `checkpoints`: the cursor at which a loop was interrupted or ended."""

    execution_id: Key
    cursor: str | None
    completed_iterations: int
    reason: str
    item: str | None
    error_class: str | None
    error_message: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A row of `audit_entries`: who did what to a workflow, when and why."""

    command: str
    actor: str | None
    reason: str | None
    at: datetime
    approval_id: Key | None = None  # of a vote, or another act on a request for approval


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRecord:
    """A row of `dead_letters`: a workflow that needs, or needed, an operator."""

    id: Key
    workflow_id: Key
    step_name: str | None
    reason: DeadLetterReason
    state: DeadLetterState
    # When it was written: states of the unfinished nodes, last error, checkpoint and worker.
    snapshot: dict[str, Any]
    created_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None
    notes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRecord:
    """A row of `limits`, with the bounds of its last request."""

    limit_key: str
    concurrency: int | None
    rate: str | None
    last_number: int
    used_at: datetime | None
    wakes_at: datetime | None

    @property
    def limit(self) -> Limit:
        return Limit(self.limit_key, self.concurrency, self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """How much of a limit is used, and how many executions wait for it."""

    limit: Limit
    running: int
    started: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """A row of `workers`."""

    id: str
    name: str
    queues: tuple[str, ...] | None
    signatures: dict[str, str]
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    trouble: str | None  # the database trouble that it is waiting out
    heard_within_lease: bool
    silent_for: timedelta

    @property
    def is_alive(self) -> bool:
        return self.heard_within_lease and self.stopped_at is None

    def knows(self, type_name: str) -> bool:
        return self.is_alive and type_name in self.signatures

    def serves(self, type_name: str, queue: str) -> bool:
        is_served = self.queues is None or queue in self.queues or queue == OWN_QUEUE
        return self.knows(type_name) and is_served
